-- +goose Up

-- Reports read whole months of a customer from a row of their own (by_what 12: 4 customer,
-- 8 month; day is the first of the month). So that the figures of months are complete, all
-- are counted once more, from the history, the newest first. A process from before this
-- migration does not know of months: it takes the fourth row for another that counts, and
-- leaves counting to newer ones.
TRUNCATE report_progress, report_figures;
INSERT INTO report_progress (stream, position, sequence, event_id, done)
VALUES ('months', 0, 0, '00000000-0000-0000-0000-000000000000', true);
