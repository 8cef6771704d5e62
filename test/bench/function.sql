\set n :n + 1
\set hi :base + :n * 64 + :client_id
\set r random(0, 1152921504606846975)
SELECT bench_book(:application::uuid, :business::uuid, :hi::bigint, :r::bigint, :mark::bytea, :answer::bytea, :payload::bytea);
