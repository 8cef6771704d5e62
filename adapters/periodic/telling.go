package periodic

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"sort"
	"strings"
	"time"

	"waybill/domain"
	"waybill/ports"
)

const (
	// tellLimit ends a word to the others where the database says nothing.
	tellLimit = 5 * time.Second
	// mostOfFailure is how many bytes of the error of a job are told.
	mostOfFailure = 300
)

// Services tell which of those that prices come from are taken for gone.
type Services interface{ States() []domain.ServiceState }

// Teller tells the staff, through the database, what this process alone knows of itself.
type Teller struct {
	jobs     *Jobs
	store    ports.Maintenance
	pools    map[string]func() sql.DBStats
	services Services
	clock    ports.Clock
	process  domain.Process
}

// NewTeller makes one of a process that begins now, with these databases open.
func NewTeller(j *Jobs, store ports.Database, open []ports.Database, s Services, c ports.Clock, ids ports.Identifiers) *Teller {
	t := &Teller{jobs: j, store: store, pools: map[string]func() sql.DBStats{}, services: s, clock: c}
	for _, d := range open {
		if p, ok := d.(interface {
			PoolStats() map[string]func() sql.DBStats
		}); ok {
			for name, stats := range p.PoolStats() {
				t.pools[name] = stats
			}
		}
	}
	host, _ := os.Hostname() // empty where the machine has none
	t.process.ID, t.process.Host, t.process.PID = ids.ID(domain.PrefixProcess), host, os.Getpid()
	return t
}

// Task tells of a process in a role every domain.ProcessEvery, and that it ended.
func (t *Teller) Task(role, version string) func(context.Context) error {
	return func(process context.Context) error {
		t.process.Role, t.process.Version, t.process.StartedAt = role, version, domain.Millis(t.clock.Now())
		t.jobs.Run(process, Job{Name: "process_telling", Every: domain.ProcessEvery, Limit: tellLimit, Level: slog.LevelDebug,
			AtOnce: true, atEnd: true, Do: func(ctx context.Context) (time.Duration, error) {
				return 0, t.store.KeepProcess(ctx, t.now(process.Err() != nil))
			}})
		return nil
	}
}

// now is the process as it is.
func (t *Teller) now(ended bool) domain.Process {
	p := t.process
	p.SeenAt, p.Ended, p.Jobs, p.Services = domain.Millis(t.clock.Now()), ended, t.jobs.told(), t.services.States()
	for name, of := range t.pools {
		s := of()
		p.Pools = append(p.Pools, domain.PoolState{Name: name, Open: s.OpenConnections, InUse: s.InUse, Most: s.MaxOpenConnections,
			Waited: s.WaitDuration})
	}
	sort.Slice(p.Pools, func(i, j int) bool { return p.Pools[i].Name < p.Pools[j].Name })
	return p
}

// ran keeps how a run went, by the clock of this machine.
func (j *Jobs) ran(name string, begun time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.runs[name]
	r.EndedAt, r.Took, r.Failed = domain.Millis(time.Now()), time.Since(begun), ""
	if err == nil {
		r.Succeeded = r.EndedAt
	} else {
		r.Failed, _, _ = strings.Cut(err.Error(), "\n")
		r.Failed = strings.ToValidUTF8(r.Failed[:min(len(r.Failed), mostOfFailure)], "")
	}
	j.runs[name] = r
}

// told are all jobs by name.
func (j *Jobs) told() []domain.JobRun {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]domain.JobRun, 0, len(j.runs))
	for _, r := range j.runs {
		all = append(all, r)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}
