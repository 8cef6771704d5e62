package redis

import (
	"testing"

	"github.com/hibiken/asynq"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
)

func TestWhatTheQueueGaveUpIsListedRetriedAndDropped(t *testing.T) {
	t.Parallel()
	q := open(t, backend.OwnRedis(t).URL)
	state, err := q.State(t.Context())
	if err != nil || state.Version == "" || state.Eviction == "" || len(state.Queues) != 3 || state.Queues[0].Pending != 0 {
		t.Fatalf("the queue before its first task: %+v, %v", state, err)
	}
	if dead, err := q.Dead(t.Context(), 10); err != nil || len(dead) > 0 {
		t.Fatalf("dead before the first task: %+v, %v", dead, err)
	}
	const id = "whe_0190000000007000800000000000000a"
	if err := q.Notify(t.Context(), ports.JobWebhook, id); err != nil {
		t.Fatal(err)
	}
	ofWebhooks := func() domain.JobQueue {
		t.Helper()
		state, err := q.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return state.Queues[0]
	}
	if jobs := ofWebhooks(); jobs.Pending != 1 || jobs.Archived != 0 {
		t.Errorf("after a notification: %+v", jobs)
	}
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	for _, act := range []struct {
		name string
		do   func(job, task string) error
		left domain.JobQueue
	}{
		{"Retry", func(job, task string) error { return q.Retry(t.Context(), job, task) }, domain.JobQueue{Pending: 1}},
		{"Drop", func(job, task string) error { return q.Drop(t.Context(), job, task) }, domain.JobQueue{}},
	} {
		if err := act.do("webhook", id+":0"); !domain.HasCode(err, domain.CodeNotFound) {
			t.Errorf("%s of a task that was not given up: %v", act.name, err)
		}
		if err := inspector.ArchiveTask("waybill-webhook", id+":0"); err != nil {
			t.Fatal(err)
		}
		dead, err := q.Dead(t.Context(), 10)
		if err != nil || len(dead) != 1 || dead[0].Of != id || dead[0].Job != "webhook" {
			t.Fatalf("dead: %+v, %v", dead, err)
		}
		if err := act.do(dead[0].Job, dead[0].ID); err != nil {
			t.Errorf("%s: %v", act.name, err)
		}
		if jobs := ofWebhooks(); jobs.Pending != act.left.Pending || jobs.Archived != 0 {
			t.Errorf("after %s: %+v", act.name, jobs)
		}
	}
	for _, unknown := range [][2]string{{"webhook", "x"}, {"nothing", id}, {"simulation", id}} {
		if err := q.Drop(t.Context(), unknown[0], unknown[1]); !domain.HasCode(err, domain.CodeNotFound) {
			t.Errorf("Drop of %v: %v", unknown, err)
		}
	}
}
