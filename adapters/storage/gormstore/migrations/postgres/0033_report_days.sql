-- +goose NO TRANSACTION
-- +goose Up

-- Reports ask for days of one environment and one set, which the keys are in the order of.
-- By an index of days alone, figures of other sets were read and left out: of those of
-- months a hundred times as many. Servers of the version before clean more slowly without it.
DROP INDEX CONCURRENTLY IF EXISTS report_figures_day_idx;
