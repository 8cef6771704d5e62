-- +goose Up

-- A search for a part of a text finds its rows by the three characters that stand
-- side by side in it. The index numbers rows by a table of its own: SQLite may give
-- a row of a table whose key is a text another number when the file is vacuumed.

CREATE TABLE recipients_search_rows (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE recipients_search USING fts5 (
    search_text, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);
INSERT INTO recipients_search_rows (id) SELECT id FROM recipients;
INSERT INTO recipients_search (rowid, search_text)
    SELECT s.number, t.search_text FROM recipients t JOIN recipients_search_rows s ON s.id = t.id;
-- +goose StatementBegin
CREATE TRIGGER recipients_search_insert AFTER INSERT ON recipients BEGIN
    INSERT INTO recipients_search_rows (id) VALUES (new.id);
    INSERT INTO recipients_search (rowid, search_text)
        SELECT number, new.search_text FROM recipients_search_rows WHERE id = new.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recipients_search_update AFTER UPDATE OF search_text ON recipients WHEN new.search_text <> old.search_text BEGIN
    UPDATE recipients_search SET search_text = new.search_text
        WHERE rowid = (SELECT number FROM recipients_search_rows WHERE id = new.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER recipients_search_delete AFTER DELETE ON recipients BEGIN
    DELETE FROM recipients_search WHERE rowid = (SELECT number FROM recipients_search_rows WHERE id = old.id);
    DELETE FROM recipients_search_rows WHERE id = old.id;
END;
-- +goose StatementEnd

CREATE TABLE pickup_locations_search_rows (
    number  INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE
) STRICT;
CREATE VIRTUAL TABLE pickup_locations_search USING fts5 (
    search_text, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);
INSERT INTO pickup_locations_search_rows (id) SELECT id FROM pickup_locations;
INSERT INTO pickup_locations_search (rowid, search_text)
    SELECT s.number, t.search_text FROM pickup_locations t JOIN pickup_locations_search_rows s ON s.id = t.id;
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_insert AFTER INSERT ON pickup_locations BEGIN
    INSERT INTO pickup_locations_search_rows (id) VALUES (new.id);
    INSERT INTO pickup_locations_search (rowid, search_text)
        SELECT number, new.search_text FROM pickup_locations_search_rows WHERE id = new.id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_update AFTER UPDATE OF search_text ON pickup_locations WHEN new.search_text <> old.search_text BEGIN
    UPDATE pickup_locations_search SET search_text = new.search_text
        WHERE rowid = (SELECT number FROM pickup_locations_search_rows WHERE id = new.id);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER pickup_locations_search_delete AFTER DELETE ON pickup_locations BEGIN
    DELETE FROM pickup_locations_search WHERE rowid = (SELECT number FROM pickup_locations_search_rows WHERE id = old.id);
    DELETE FROM pickup_locations_search_rows WHERE id = old.id;
END;
-- +goose StatementEnd
