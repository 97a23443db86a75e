"""Files in and out: tables, documents, dates and the checks that every path passes."""
