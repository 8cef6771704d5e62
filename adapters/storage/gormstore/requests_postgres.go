package gormstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"waybill/domain"
)

const (
	// There are partitions for today, and for so many days before and after it.
	daysBack  = 2
	daysAhead = 7
	day       = 24 * time.Hour
	dayFormat = "20060102"
	// pgRotateLock stops processes from rotating at the same time.
	pgRotateLock = "2002937445"
)

// copyRequests stores rows by COPY.
func copyRequests(ctx context.Context, sn session, table string, rows []requestRow) error {
	columns := []string{
		"id", "client_id", "environment", "business_id", "application_id", "key_id", "route", "delivery_id", "status", "code", "fields",
		"took_us", "replayed", "key_digest", "network", "agent", "weight",
	}
	optionalUUID := func(id *rowID) pgtype.UUID {
		if id == nil {
			return pgtype.UUID{}
		}
		return uuidOf(*id)
	}
	source := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		r := &rows[i]
		return []any{
			uuidOf(r.ID), r.ClientID, r.Environment, optionalUUID(r.BusinessID), optionalUUID(r.ApplicationID), optionalUUID(r.KeyID), r.Route,
			optionalUUID(r.DeliveryID), r.Status, r.Code, r.Fields, r.TookUs, r.Replayed, r.KeyDigest, r.Network, r.Agent, r.Weight,
		}, nil
	})
	return onPgConn(sn.conn, func(c *pgConn) error {
		_, err := c.pgx().CopyFrom(ctx, pgx.Identifier{table}, columns, source)
		return err
	})
}

// requestTables lists the tables of the request log, which have partitions.
var requestTables = []string{requestSuccesses, requestFailures, usageMinutes, usageHours}

// makeRequestPartitions makes the partitions from daysBack, since a process may have waited to
// write, until so many days ahead. It returns their period.
func makeRequestPartitions(ctx context.Context, s *Store, ahead int) (from, until time.Time, err error) {
	var now instant
	if err := s.write.WithContext(ctx).Raw("SELECT " + s.dialect.now).Row().Scan(&now); err != nil {
		return from, until, s.dialect.failed("read the time of the database", err)
	}
	today := now.time.UTC().Truncate(day)
	from, until = today.Add(-daysBack*day), today.Add(time.Duration(ahead+1)*day)
	return from, until, s.transact(ctx, func(sn session) error {
		if err := sn.with(ctx).Exec("SELECT pg_advisory_xact_lock(" + pgRotateLock + ")").Error; err != nil {
			return s.dialect.failed("wait for another process to make room in the request log", err)
		}
		for _, table := range requestTables {
			there, err := partitionsOf(ctx, sn, table)
			if err != nil {
				return err
			}
			for d := from; d.Before(until); d = d.Add(day) {
				if slices.ContainsFunc(there, func(p partition) bool { return p.day.Equal(d) }) {
					continue
				}
				if err := addPartition(ctx, sn, table, d); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// addPartition creates a table and attaches it. Unlike a table that is created as a partition, that
// does not wait for readers of the others.
func addPartition(ctx context.Context, sn session, table string, of time.Time) error {
	bound := func(t time.Time) string {
		if table == usageMinutes || table == usageHours {
			return domain.FormatTime(t)
		}
		return string(firstIDAt(t))
	}
	name := table + "_" + of.Format(dayFormat)
	for _, statement := range []string{
		"CREATE TABLE " + name + " (LIKE " + table + " INCLUDING ALL)",
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')", table, name, bound(of), bound(of.Add(day))),
	} {
		if err := sn.with(ctx).Exec(statement).Error; err != nil {
			return sn.dialect.failed("make room in "+table+" for "+of.Format(time.DateOnly), err)
		}
	}
	return nil
}

// partition is a table of one day.
type partition struct {
	name  string
	day   time.Time
	bytes int64
}

// partitionsOf lists the partitions of a table, the oldest first.
func partitionsOf(ctx context.Context, sn session, table string) ([]partition, error) {
	var rows []struct {
		Name  string
		Bytes int64
	}
	err := sn.with(ctx).Raw("SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes FROM pg_inherits i JOIN pg_class c ON c.oid = "+
		"i.inhrelid"+
		" WHERE i.inhparent = CAST(? AS regclass) ORDER BY c.relname", table).Scan(&rows).Error
	if err != nil {
		return nil, sn.dialect.failed("list the partitions of "+table, err)
	}
	var found []partition
	for _, r := range rows {
		if of, err := time.Parse(dayFormat, strings.TrimPrefix(r.Name, table+"_")); err == nil {
			found = append(found, partition{r.Name, of, r.Bytes})
		}
	}
	return found, nil
}

// rotateRequestsOnPostgres makes partitions ahead and drops old ones. It drops old ones even where
// it can make none.
func rotateRequestsOnPostgres(ctx context.Context, s *Store, keep domain.RequestLogKeeping) error {
	_, _, err := makeRequestPartitions(ctx, s, daysAhead)
	if LacksPrivilege(err) {
		err = fmt.Errorf("the role may not make partitions of the request log, whose room ends within %d days: run waybill migrate up as"+
			" the owner of the tables: %w", daysAhead, err)
	}
	return errors.Join(err, dropOldRequests(ctx, s, keep))
}

func dropOldRequests(ctx context.Context, s *Store, keep domain.RequestLogKeeping) error {
	sn := session{db: s.write.WithContext(ctx), dialect: s.dialect}
	for table, kept := range keptFor(keep) {
		there, err := partitionsOf(ctx, sn, table)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			continue
		}
		before, err := s.requestsOlder(ctx, table, kept, there[0].day.Add(day))
		if err != nil {
			return err
		}
		for _, p := range there {
			if p.day.Add(day).After(before) {
				break
			}
			if err := s.dropPartition(ctx, p); err != nil {
				return err
			}
		}
	}
	return s.boundRequests(ctx, sn, keep.MaxBytes)
}

// boundRequests drops the oldest days until the rest is no larger than allowed, those of successes
// first, and never today's.
func (s *Store) boundRequests(ctx context.Context, sn session, most int64) error {
	if most == 0 {
		return nil
	}
	var now instant
	if err := sn.db.Raw("SELECT " + s.dialect.now).Row().Scan(&now); err != nil {
		return s.dialect.failed("read the time of the database", err)
	}
	var old []partition
	total := int64(0)
	for _, table := range []string{requestSuccesses, requestFailures} {
		there, err := partitionsOf(ctx, sn, table)
		if err != nil {
			return err
		}
		for _, p := range there {
			if total += p.bytes; p.day.Add(day).Before(now.time) {
				old = append(old, p)
			}
		}
	}
	for _, p := range old {
		if total <= most {
			break
		}
		s.log.WarnContext(ctx, "the request log is larger than it may be; a day of it is dropped before its time", "partition", p.name, "bytes",
			total, "most", most)
		if err := s.dropPartition(ctx, p); err != nil {
			return err
		}
		total -= p.bytes
	}
	return nil
}

// dropPartition waits for readers no longer than a lock may take: meanwhile nothing else is read or
// written there. If the role does not own the partition, it empties it.
func (s *Store) dropPartition(ctx context.Context, p partition) error {
	err := s.transact(ctx, func(sn session) error {
		for _, statement := range []string{"SET LOCAL lock_timeout = '500ms'", "DROP TABLE IF EXISTS " + p.name} {
			if err := sn.with(ctx).Exec(statement).Error; err != nil {
				return sn.dialect.failed("drop "+p.name, err)
			}
		}
		return nil
	})
	if LacksPrivilege(err) {
		return s.emptyPartition(ctx, p)
	}
	return err
}
