-- Notes each statement that deletes rows, at its end.
CREATE UNLOGGED TABLE bench_cleaning (begun timestamptz NOT NULL, ended timestamptz NOT NULL);
CREATE FUNCTION bench_cleaned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO bench_cleaning VALUES (statement_timestamp(), clock_timestamp());
	RETURN NULL;
END $$;
