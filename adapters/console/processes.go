package console

import (
	"strconv"
	"time"

	"waybill/adapters/pages"
	"waybill/domain"
)

// processRow holds the latest report of a process.
type processRow struct {
	ID, Role, Where, Version string
	StartedAt, SeenAt        time.Time
	State, Tone              string
	Gone                     []domain.ServiceState
	Failing                  []domain.JobRun
	Jobs                     []domain.JobRun
	Pools                    []poolRow
}

type poolRow struct {
	Name, Use string
	Busy      bool // all connections are in use
	Waited    string
}

func processRows(all []domain.Process, now time.Time) (rows []processRow) {
	for _, p := range all {
		row := processRow{ID: string(p.ID), Role: p.Role, Where: p.Host + ", PID " + strconv.Itoa(p.PID), Version: p.Version,
			StartedAt: p.StartedAt, SeenAt: p.SeenAt, State: "Running", Tone: "good", Jobs: p.Jobs}
		switch {
		case p.Ended:
			row.State, row.Tone = "Stopped", ""
		case now.Sub(p.SeenAt) > domain.ProcessSilent:
			row.State, row.Tone = "Not responding", "bad"
		}
		for _, s := range p.Services {
			if s.GoneSince != nil {
				row.Gone = append(row.Gone, s)
			}
		}
		for _, j := range p.Jobs {
			if j.Failed != "" {
				row.Failing = append(row.Failing, j)
			}
		}
		for _, pool := range p.Pools {
			// A pool of one connection, as for SQLite writes, is in use during every write.
			row.Pools = append(row.Pools, poolRow{Name: pool.Name, Busy: pool.Most > 1 && pool.InUse >= pool.Most,
				Use: pages.Count(int64(pool.InUse)) + " in use, " + pages.Count(int64(pool.Open)) + " open, " +
					pages.Count(int64(pool.Most)) + " maximum",
				Waited: pool.Waited.Round(time.Millisecond).String()})
		}
		rows = append(rows, row)
	}
	return rows
}
