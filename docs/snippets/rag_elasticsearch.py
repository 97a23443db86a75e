from diverset.integrations.stores import from_elasticsearch

# client.search(index="pages", knn={...}, fields=["embedding"]), of Elasticsearch or OpenSearch
response = {
    "hits": {
        "hits": [
            {"_id": "a", "_score": 0.95, "fields": {"embedding": [1.0, 0.2]}},
            {"_id": "b", "_score": 0.94, "fields": {"embedding": [1.0, 0.25]}},
            {"_id": "c", "_score": 0.60, "fields": {"embedding": [0.2, 1.0]}},
        ]
    }
}
found = from_elasticsearch(response, field="embedding")
print(found.select(2, diversity=0.4).take(found.ids))  # ['a', 'c']
