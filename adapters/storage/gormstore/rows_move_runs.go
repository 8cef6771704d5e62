package gormstore

import (
	"strings"

	"waybill/domain"
)

// moveRunRow is a run as it is read. Other statements write it, since the database computes
// leased_until.
type moveRunRow struct {
	ID          rowID
	Key         string
	Fingerprint []byte
	ActorID     string
	ActorName   string
	RequestID   string
	CreatedAt   instant
	FinishedAt  *instant
	LeasedUntil *instant
	ReadAt      instant // the database's clock
}

const moveRunColumns = "id, key, fingerprint, actor_id, actor_name, request_id, created_at, finished_at, leased_until, $now AS read_at"

func (r *moveRunRow) domain() domain.MoveRun {
	run := domain.MoveRun{
		ID: r.ID.as(domain.PrefixMoveRun), Key: r.Key, Fingerprint: [32]byte(r.Fingerprint),
		By:        domain.AuditActor{ID: domain.ID(r.ActorID), Name: r.ActorName, RequestID: r.RequestID},
		CreatedAt: r.CreatedAt.time, FinishedAt: optionalTime(r.FinishedAt),
	}
	if r.LeasedUntil != nil {
		run.LeaseLeft = r.LeasedUntil.time.Sub(r.ReadAt.time)
	}
	return run
}

type moveItemRow struct {
	RunID      rowID
	ItemIndex  int
	Sent       string
	DeliveryID *rowID
	Reference  string
	ToStatus   string
	ReasonCode string
	Outcome    string
	Current    string
	Code       string
	Message    string
	Allowed    string
}

func (moveItemRow) TableName() string { return "move_run_items" }

func newMoveItemRow(run domain.ID, i domain.MoveItem) moveItemRow {
	return moveItemRow{
		RunID: rowIDOf(run), ItemIndex: i.Index, Sent: i.Sent, DeliveryID: optionalRowID(i.DeliveryID), Reference: string(i.Reference),
		ToStatus: string(i.To), ReasonCode: string(i.Reason), Outcome: string(i.Outcome), Current: string(i.Current), Code: i.Code,
		Message: i.Message, Allowed: joined(i.Allowed),
	}
}

func (r *moveItemRow) domain() domain.MoveItem {
	item := domain.MoveItem{
		Index: r.ItemIndex, Sent: r.Sent, DeliveryID: optionalID(r.DeliveryID, domain.PrefixDelivery), Reference: domain.Reference(r.Reference),
		To: domain.Status(r.ToStatus), Reason: domain.ReasonCode(r.ReasonCode), Outcome: domain.MoveOutcome(r.Outcome),
		Current: domain.Status(r.Current), Code: r.Code, Message: r.Message,
	}
	if r.Allowed != "" {
		for _, s := range strings.Split(r.Allowed, ",") {
			item.Allowed = append(item.Allowed, domain.Status(s))
		}
	}
	return item
}

func joined(statuses []domain.Status) string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}
