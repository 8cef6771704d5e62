package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.SharedQueue = (*Queue)(nil)

// kinds lists the queues to inspect, whatever runs in this process.
var kinds = []ports.JobKind{ports.JobWebhook, ports.JobWebhookLowPriority, ports.JobSimulation}

// State returns the state of Redis and of the queues. The requests of asynq do not end with
// ctx, but with the timeouts of the client.
func (q *Queue) State(ctx context.Context) (s domain.QueueState, err error) {
	begun := time.Now()
	if err := q.redis.Ping(ctx).Err(); err != nil {
		return s, fmt.Errorf("ask Redis for a sign of life: %w", err)
	}
	s.Took = time.Since(begun)
	info, err := q.redis.Info(ctx, "server", "memory").Result()
	if err != nil {
		return s, fmt.Errorf("ask Redis about itself: %w", err)
	}
	of := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		of[name] = value
	}
	s.Product, s.Version, s.Eviction = "Redis", of["redis_version"], of["maxmemory_policy"]
	s.Memory, _ = strconv.ParseInt(of["used_memory"], 10, 64)
	s.Most, _ = strconv.ParseInt(of["maxmemory"], 10, 64)
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	for _, kind := range kinds {
		jobs := domain.JobQueue{Job: string(kind)}
		found, err := inspector.GetQueueInfo(queueName(kind))
		switch {
		case err == nil:
			jobs.Pending, jobs.Active, jobs.Archived, jobs.Oldest = found.Pending, found.Active, found.Archived, found.Latency
		case !unused(err):
			return s, fmt.Errorf("ask for the queue %s: %w", kind, err)
		}
		s.Queues = append(s.Queues, jobs)
	}
	return s, nil
}

// unused reports whether the error means that nothing was ever put into a queue.
func unused(err error) bool {
	return errors.Is(err, asynq.ErrQueueNotFound) || strings.Contains(err.Error(), "does not exist")
}

// Dead lists the tasks that asynq archived. A handler fails no task, so there are none, unless
// its process was lost again and again or an operator archived one.
func (q *Queue) Dead(_ context.Context, limit int) (dead []domain.DeadTask, err error) {
	inspector := asynq.NewInspectorFromRedisClient(q.redis)
	for _, kind := range kinds {
		found, err := inspector.ListArchivedTasks(queueName(kind), asynq.PageSize(limit))
		if err != nil && !unused(err) {
			return nil, fmt.Errorf("list the tasks that %s gave up: %w", kind, err)
		}
		for _, t := range found {
			dead = append(dead, domain.DeadTask{Job: string(kind), ID: t.ID, Of: string(t.Payload), Cause: t.LastErr, At: t.LastFailedAt})
		}
	}
	return dead[:min(len(dead), limit)], nil
}

// Retry makes an archived task pending again.
func (q *Queue) Retry(_ context.Context, job, id string) error {
	return q.ofDead(job, id, asynq.NewInspectorFromRedisClient(q.redis).RunTask)
}

// Drop deletes an archived task.
func (q *Queue) Drop(_ context.Context, job, id string) error {
	return q.ofDead(job, id, asynq.NewInspectorFromRedisClient(q.redis).DeleteTask)
}

func (q *Queue) ofDead(job, id string, do func(queue, id string) error) error {
	if !slices.Contains(kinds, ports.JobKind(job)) {
		return domain.ErrNotFound
	}
	inspector, name := asynq.NewInspectorFromRedisClient(q.redis), queueName(ports.JobKind(job))
	task, err := inspector.GetTaskInfo(name, id)
	if err == nil && task.State != asynq.TaskStateArchived || errors.Is(err, asynq.ErrTaskNotFound) || err != nil && unused(err) {
		return domain.ErrNotFound
	}
	if err == nil {
		err = do(name, id)
	}
	if err != nil {
		return fmt.Errorf("change a task of %s that was given up: %w", job, err)
	}
	return nil
}
