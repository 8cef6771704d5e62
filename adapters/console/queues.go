package console

import (
	"net/http"
	"time"

	"waybill/adapters/pages"
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
	Evicts    bool // Redis may evict notifications at its memory limit
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
	Late                  string // how long the oldest has been due
	Tone                  string
}

type mailRow struct {
	ID, Kind, Cause string
	Attempts        int
	At              time.Time
	Again           bool // the recipient is known, so it can be retried
}

var workTexts = map[domain.WorkKind]string{
	domain.WorkWebhooks: "Webhooks", domain.WorkMails: "Emails", domain.WorkSteps: "Simulation steps",
}

// lateAfter sets how long work may be due before it is marked.
const lateAfter = time.Minute

func (p *Console) showQueues(c *call) error {
	o := p.Machinery.Overview(c.Ctx())
	v := queuesView{Notice: c.Told(), At: o.At, May: c.May(domain.ActRepairQueues), Queue: o.Queue.Value, Dead: o.Dead.Value,
		Database: o.Database.Value, FeedLag: o.FeedLag.Value.Round(time.Millisecond),
		Took: pages.Took(o.Database.Value.Took)}
	v.WorkGone, v.MailsGone = p.gone(c, "Background work", o.Work.Err), p.gone(c, "The list of failed emails", o.Mails.Err)
	v.QueueGone, v.DeadGone = p.gone(c, "Redis", o.Queue.Err), p.gone(c, "The list of failed notifications", o.Dead.Err)
	if v.DataGone = p.gone(c, "The database", o.Database.Err); v.DataGone == nil {
		v.DataGone = p.gone(c, "The delay of the event feed", o.FeedLag.Err)
	}
	v.Processes, v.ProcessesGone = processRows(o.Processes.Value, o.At), p.gone(c, "The list of processes", o.Processes.Err)
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

// counted formats a count that stops at a limit.
func counted(n int) string {
	text := pages.Count(int64(n))
	if n >= domain.MaxWaitingCounted {
		text += " or more"
	}
	return text
}

// gone returns a notice that a part could not be read, and nil if err is nil. It logs errors that
// are more than a late answer.
func (p *Console) gone(c *call, what string, err error) *pages.Notice {
	if err == nil {
		return nil
	}
	why := "There was no answer within 3 seconds. Reload this page in a moment."
	if !ports.StorageUnavailable(err) {
		why = "There was an error. The log of this process has the details."
		p.options.Log.ErrorContext(c.Ctx(), "a part of a page is not known", "request_id", c.RequestID(), "part", what, "error", err)
	}
	return &pages.Notice{Tone: "bad", Title: what + " cannot be read at the moment", Lines: []string{why}}
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
