package dispatch

// The states of a drain. Each of them changes only by the tables below, and the actions of a drain
// follow from them.

// phase is the progress of a drain: the work it still does, and what happens to its lease at its
// end.
type phase uint8

const (
	// sending: attempts begin, and their outcomes are stored.
	sending phase = iota
	// finishing: no attempt begins. The lease is released at the end.
	finishing
	// pausing finishes because of something that would fail again at once. The lease is not
	// released, so that its remaining time is a pause.
	pausing
	// uncertain finishes because a call about the lease failed. This process may still have it: its
	// next owner here takes the same token.
	uncertain
	// lost: nothing is stored any more, since another process has the lease.
	lost
	// abandoned: nothing is stored any more, since storing failed for long. The next owner here
	// takes the same token, and stores the outcomes first.
	abandoned

	phases
)

// step is an event that changes the phase of a drain.
type step uint8

const (
	// ended: its time is over, nothing is due, or the endpoint must not be sent to.
	ended step = iota
	// refused: a secret cannot be opened, or the endpoint cannot be disabled.
	refused
	// unanswered: a read or a renewal failed.
	unanswered
	// taken: another process has the lease, or the endpoint is deleted.
	taken
	// stuck: storing outcomes failed for long, or the drain lasts far beyond its time.
	stuck

	steps
)

var phaseAfter = [phases][steps]phase{
	//           ended      refused    unanswered taken stuck
	sending:   {finishing, pausing, uncertain, lost, abandoned},
	finishing: {finishing, pausing, uncertain, lost, abandoned},
	pausing:   {pausing, pausing, uncertain, lost, abandoned},
	uncertain: {uncertain, uncertain, uncertain, lost, abandoned},
	lost:      {lost, lost, lost, lost, lost},
	abandoned: {abandoned, abandoned, abandoned, lost, abandoned},
}

// on returns the phase after a step.
func (p phase) on(s step) phase { return phaseAfter[p][s] }

// ends reports whether no attempt begins any more.
func (p phase) ends() bool { return p != sending }

// stores reports whether outcomes are still stored.
func (p phase) stores() bool { return p != lost && p != abandoned }

// releases reports whether the lease is released at the end.
func (p phase) releases() bool { return p == finishing }

// keepsToken reports whether this process may have the lease at the end.
func (p phase) keepsToken() bool { return p == uncertain || p == abandoned }

// knowledge tells how much a drain knows of its due webhooks.
type knowledge uint8

const (
	// unseen: nothing was read. The first read is a short one, to recognise a backlog.
	unseen knowledge = iota
	// stale: more may be due than was read.
	stale
	// partial: more may be due once the webhooks that were read are stored. The read reached its
	// limit, or left out webhooks that were taken before.
	partial
	// current: all due webhooks were read.
	current

	knowledges
)

// news is an event that changes knowledge.
type news uint8

const (
	changed     news = iota // a notification came
	stored                  // outcomes were stored
	readAll                 // the due webhooks were read
	readPart                // the read reached its limit, or left out those that were taken
	readBacklog             // the first, short read found a backlog

	newses
)

var knowledgeAfter = [knowledges][newses]knowledge{
	//        changed stored readAll  readPart readBacklog
	unseen:  {unseen, unseen, current, partial, stale},
	stale:   {stale, stale, current, partial, stale},
	partial: {stale, stale, current, partial, stale},
	current: {stale, current, current, partial, stale},
}

// on returns the knowledge after news.
func (k knowledge) on(n news) knowledge { return knowledgeAfter[k][n] }

// load reports whether a drain has a backlog, and so has to leave room for others.
type load uint8

const (
	// prompt: no backlog so far. Its sends go out at once.
	prompt load = iota
	// behind: it shares storage permits, and its sends take send permits.
	behind
	// recovered: it had a backlog.
	recovered

	loads
)

var loadAfter = [loads][2]load{
	//           few due    many due
	prompt:    {prompt, behind},
	behind:    {recovered, behind},
	recovered: {recovered, behind},
}

// on returns the load after a read with that many due webhooks.
func (l load) on(due int) load {
	if due > much {
		return loadAfter[l][1]
	}
	return loadAfter[l][0]
}

// permit is the state of a drain's permit for its next send.
type permit uint8

const (
	none   permit = iota // it needs none
	wanted               // a send waits for one
	held                 // it has one

	permits
)

// ask is an event that changes permit.
type ask uint8

const (
	looked  ask = iota // the drain checks again what it may send
	denied             // none was free
	granted            // the drain got one
	used               // a send has taken it over, or it was given back

	asks
)

var permitAfter = [permits][asks]permit{
	//       looked denied granted used
	none:   {none, wanted, held, none},
	wanted: {none, wanted, held, wanted},
	held:   {held, held, held, none},
}

// on returns the permit's state after an event.
func (p permit) on(a ask) permit { return permitAfter[p][a] }
