-- +goose Up

-- Keys are as they were: this database is never distributed.
SELECT 1;
