package console

import (
	"net/http"
	"time"

	"waybill/adapters/pages"
	"waybill/adapters/site"
	"waybill/application/machinery"
	"waybill/domain"
	"waybill/ports"
)

type queuesView struct {
	Notice    *pages.Notice
	At        time.Time
	May       bool
	Work      []workRow
	WorkGone  *pages.Notice
	Mails     []mailRow
	MailsGone *pages.Notice
	Dead      []domain.DeadTask
	DeadGone  *pages.Notice
	Queue     *domain.QueueState
	QueueGone *pages.Notice
	Evicts    bool // its memory limit may lose notifications
	Database  domain.DatabaseState
	DataGone  *pages.Notice
	FeedLag   time.Duration
	Took      string

	Processes     []processRow
	ProcessesGone *pages.Notice
}

type workRow struct {
	What, Environment     string
	Waiting, Due, GivenUp string
	Late                  string // for how long the oldest has been due
	Tone                  string
}

type mailRow struct {
	ID, Kind, Cause string
	Attempts        int
	At              time.Time
	Again           bool // its recipient is known
}

var workTexts = map[domain.WorkKind]string{
	domain.WorkWebhooks: "Webhooks", domain.WorkMails: "Mails", domain.WorkSteps: "Steps of simulations",
}

// lateAfter is for how long work may be due before it is marked.
const lateAfter = time.Minute

func (p *Console) showQueues(c *call) error {
	o := p.Machinery.Overview(c.Ctx())
	v := queuesView{Notice: c.Told(), At: o.At, May: c.May(domain.ActRepairQueues), Queue: o.Queue.Value, Dead: o.Dead.Value,
		Database: o.Database.Value, FeedLag: o.FeedLag.Value.Round(time.Millisecond),
		Took: site.Took(o.Database.Value.Took)}
	v.WorkGone, v.MailsGone = gone("What is to be done", o.Work), gone("The mails that were given up", o.Mails)
	v.QueueGone, v.DeadGone = gone("Redis", o.Queue), gone("What Redis gave up", o.Dead)
	if v.DataGone = gone("The database", o.Database); v.DataGone == nil {
		v.DataGone = gone("The lag of the feed", o.FeedLag)
	}
	v.Processes, v.ProcessesGone = processRows(o.Processes.Value, o.At), gone("What processes tell of themselves", o.Processes)
	v.Evicts = v.Queue != nil && v.Queue.Eviction != "noeviction"
	for _, w := range o.Work.Value {
		row := workRow{What: workTexts[w.Kind], Environment: string(w.Environment), Waiting: counted(w.Waiting), Due: counted(w.Due),
			GivenUp: counted(w.GivenUp)}
		if w.Oldest != nil {
			late := max(0, o.At.Sub(*w.Oldest))
			row.Late = lasting(late)
			if late > lateAfter {
				row.Tone = "bad"
			}
		}
		v.Work = append(v.Work, row)
	}
	for _, m := range o.Mails.Value {
		at := m.At
		if m.SettledAt != nil {
			at = *m.SettledAt
		}
		v.Mails = append(v.Mails, mailRow{string(m.ID), string(m.Kind), m.LastError, m.Attempts, at, m.PersonID != ""})
	}
	return p.Show(c, http.StatusOK, "queues", "Queues", v)
}

// counted is a number that is counted up to a bound.
func counted(n int) string {
	text := pages.Count(int64(n))
	if n >= domain.MaxWaitingCounted {
		text += " or more"
	}
	return text
}

// gone tells that a part is not known now; nil where it is.
func gone[T any](what string, p machinery.Part[T]) *pages.Notice {
	if p.Err == nil {
		return nil
	}
	why := "It answered with an error; the log of this process has it."
	if ports.StorageUnavailable(p.Err) {
		why = "It did not answer within 3 seconds, or is gone."
	}
	return &pages.Notice{Tone: "bad", Title: what + " is not known now", Lines: []string{why}}
}

func (p *Console) retryMail(c *call) error {
	return p.repaired(c, p.Machinery.RetryMail(c.Ctx(), c.Actor(), domain.ID(c.Param("mail"))), "mail-retried")
}

func (p *Console) dropMail(c *call) error {
	return p.repaired(c, p.Machinery.DropMail(c.Ctx(), c.Actor(), domain.ID(c.Param("mail"))), "mail-dropped")
}

func (p *Console) retryTask(c *call) error {
	return p.repaired(c, p.Machinery.RetryTask(c.Ctx(), c.Actor(), c.Form.Get("job"), c.Form.Get("task")), "task-retried")
}

func (p *Console) dropTask(c *call) error {
	return p.repaired(c, p.Machinery.DropTask(c.Ctx(), c.Actor(), c.Form.Get("job"), c.Form.Get("task")), "task-dropped")
}

func (p *Console) repaired(c *call, err error, said string) error {
	if err != nil {
		return err
	}
	return c.Lead("/queues?done=" + said)
}
