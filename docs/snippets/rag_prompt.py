import json
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.feature_extraction.text import TfidfVectorizer

import diverset as dv

POOL = [
    ("How do I reset my password?", "Open settings, choose security, and follow the link."),
    ("How can I reset the password of my account?", "Open settings, choose security, and follow the link."),
    ("My password does not work, how do I get a new one?", "Choose 'forgotten' and read your mail."),
    ("Can I pay by card?", "Yes, by card and by bank transfer."),
    ("Where do I find my bills?", "Under account, then billing."),
    ("How do I close my account?", "Write to support. Accounts are closed within a week."),
]

with TemporaryDirectory() as folder:  # a file with one example per line, as people have it
    path = Path(folder) / "examples.jsonl"
    path.write_text("\n".join(json.dumps({"question": q, "answer": a}) for q, a in POOL))
    examples = [json.loads(line) for line in path.read_text().splitlines()]

# Any embeddings do; these need no model. Count tokens as your model does, for instance with tiktoken.
questions = [example["question"] for example in examples]
embed = TfidfVectorizer().fit(questions)
tokens = [len((example["question"] + example["answer"]).split()) for example in examples]

query = embed.transform(["how do I change my password"]).toarray()[0]
chosen = dv.select(embed.transform(questions), k=len(examples), query=query, costs=tokens, budget=45)
print(sum(tokens[i] for i in chosen) <= 45)  # True
print(questions[chosen.indices[0]])  # How do I reset my password?

# Best last: models give more weight to what stands next to the question.
prompt = "\n\n".join(f"Q: {examples[i]['question']}\nA: {examples[i]['answer']}" for i in reversed(list(chosen)))
print(prompt.count("Q: ") == len(chosen))  # True
