package redislimiter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"waybill/ports"
)

// calls are requests that are counted against the same buckets at the same time.
// The first of them makes one call of the script for all, which others may join
// until it is written to the connection.
type calls struct {
	limiter *Limiter
	buckets []ports.Bucket
	name    string
	n       int64
	over    chan struct{}
	found   []int64
	err     error
}

// MarshalBinary is how many there are. The client asks when it writes the call:
// whoever comes later is too late for it.
func (c *calls) MarshalBinary() ([]byte, error) { return strconv.AppendInt(nil, c.close(), 10), nil }

func (c *calls) close() int64 {
	l := c.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	c.leave()
	return c.n
}

// leave lets nobody join any more. The limiter is locked.
func (c *calls) leave() {
	if c.limiter.open[c.name] == c {
		delete(c.limiter.open, c.name)
	}
}

// besideError is the failure of a call that the first of them tells of too.
type besideError struct{ error }

func (e besideError) Unwrap() error { return e.error }
func (besideError) Beside()         {}

var errUnmade = errors.New("redislimiter: the call was not made")

// together takes with others. It answers as call does, and how many of them come
// before this one.
func (l *Limiter) together(ctx context.Context, buckets []ports.Bucket, keys []string, args []any) (found []int64, place int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fmt.Errorf("redislimiter: %w", err)
	}
	name := nameOf(keys, args)
	l.mu.Lock()
	c, joined := l.open[name]
	if !joined {
		c = &calls{limiter: l, buckets: buckets, name: name, over: make(chan struct{}), err: errUnmade}
		l.open[name] = c
	}
	place = c.n
	c.n++
	l.mu.Unlock()
	if !joined {
		c.make(ctx, keys, args)
		return c.found, place, c.err
	}
	select {
	case <-c.over:
		err = c.err
	case <-ctx.Done():
		err = fmt.Errorf("redislimiter: %w", ctx.Err())
	}
	if err != nil {
		return nil, 0, besideError{err}
	}
	return c.found, place, nil
}

// make is the call. It ends in time for the one who makes it, but goes on for the
// others where that one leaves.
func (c *calls) make(ctx context.Context, keys []string, args []any) {
	end, bounded := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	defer close(c.over)
	defer c.close() // it may never have been written
	if c.found, c.err = c.limiter.call(ctx, c.buckets, keys, append(args, c)); c.err != nil {
		c.forget()
	}
}

// forget makes a call that may still be written, though all have gone on without
// it, count nothing. Nobody may join it any more.
func (c *calls) forget() {
	l := c.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	c.leave()
	c.n = 0
}

// nameOf tells apart what is counted against other buckets, within other limits, or
// by the clock of a test at another time.
func nameOf(keys []string, args []any) string {
	var name strings.Builder
	for i, key := range keys {
		name.WriteString(key)
		name.WriteByte(0)
		name.WriteString(strconv.Itoa(args[2+2*i].(int)))
		name.WriteByte(0)
	}
	name.WriteString(args[1].(string))
	return name.String()
}
