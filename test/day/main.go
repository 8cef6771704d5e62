package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
)

// options are the flags.
type options struct {
	seed       uint64
	deliveries int
	minutes    float64
	dir        string
	program    string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "of the day; the same seed makes the same day")
	flag.IntVar(&o.deliveries, "deliveries", 500, "how many are booked, 1 to 5000")
	flag.Float64Var(&o.minutes, "minutes", 30, "how long the day of ten hours takes")
	flag.StringVar(&o.dir, "dir", ".waybill/day", "data directory of its server; an earlier day in it is wiped")
	flag.StringVar(&o.program, "program", ".bin/waybill", "the waybill to run")
	flag.Parse()
	if flag.NArg() > 0 || o.deliveries < 1 || o.deliveries > 5000 || o.minutes <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "day:", err)
		stop()
		os.Exit(1)
	}
}

// run serves and plays a day, and then serves on until ctx ends.
func run(ctx context.Context, o *options, told io.Writer) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	s, err := start(serving, o.program, o.dir, told)
	if err != nil {
		return ended(ctx, err)
	}
	play := func() error {
		receiver, err := receive(serving)
		if err != nil {
			return err
		}
		ops := &operations{s.vars["WAYBILL_OPS_URL"], s.vars["WAYBILL_OPS_TOKEN"]}
		clients, err := ops.tenants(serving, s.vars["WAYBILL_LIVE_URL"], receiver)
		if err != nil {
			return err
		}
		p := &player{operations: ops, clients: clients, run: strings.ToLower(rand.Text()[:6]), told: told,
			factor: float64(dayLength) / (o.minutes * float64(time.Minute))}
		p.day = plan(o.seed, p.run, o.deliveries)
		fmt.Fprintf(told, "\nA day of %d deliveries, in %g minutes. Be its dispatcher: %s\n", o.deliveries, o.minutes,
			s.vars["WAYBILL_CONSOLE_LINK"])
		fmt.Fprintf(told, "Logs, and mails with their links: %s\n\n", filepath.Join(o.dir, logFile))
		if err := p.play(serving); err != nil {
			return err
		}
		fmt.Fprintln(told, "\nThe day is over. What waits now is for the console; the server runs until Ctrl-C.")
		return nil
	}
	played := make(chan error, 1)
	go func() { played <- play() }()
	select {
	case err = <-played:
		if err == nil {
			select {
			case <-ctx.Done():
			case <-s.ends:
			}
		}
	case <-s.ends:
	}
	stop()
	<-s.ends
	return ended(ctx, errors.Join(err, s.err))
}

// ended is an error, unless the person ended it all.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// player plays the customers and the dispatch system.
type player struct {
	*operations
	clients []*waybillapi.Client // of customers
	day     []*delivery
	run     string
	factor  float64 // minutes of the day in a minute
	told    io.Writer

	rounds                            int
	booked, moves, cancelled, refused int
}

// Looks for what is due come every so often in the time of the person at the screen, and
// a line tells how it stands each half hour of the day.
const (
	lookEvery = time.Second
	tellEvery = 30 * time.Minute
)

func (p *player) play(ctx context.Context) error {
	begun, toTell := time.Now(), time.Duration(0)
	every := min(lookEvery, time.Duration(float64(dayLength)/p.factor/100))
	for {
		now := time.Duration(float64(time.Since(begun)) * p.factor)
		if err := p.look(ctx, now); err != nil {
			return err
		}
		if now >= toTell || p.over() {
			fmt.Fprintf(p.told, "%02d:%02d  %d booked, %d moved, %d cancelled by customers, %d moved by others\n", 8+int(now.Hours()),
				int(now.Minutes())%60, p.booked, p.moves, p.cancelled, p.refused)
			toTell += tellEvery
		}
		if p.over() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// over is whether nothing is to come.
func (p *player) over() bool {
	return !slices.ContainsFunc(p.day, func(d *delivery) bool { return !d.takenOut && d.next < len(d.acts) })
}

// look does what is due: what customers book and cancel, then what the dispatch moves.
func (p *player) look(ctx context.Context, now time.Duration) error {
	p.rounds++
	orders := make([][]*delivery, len(customers))
	var moving []*delivery
	for _, d := range due(p.day, now) {
		switch a := d.acts[d.next]; {
		case a.status == domain.Booked:
			orders[d.of] = append(orders[d.of], d)
		case a.status == domain.Cancelled && a.reason == "":
			if err := p.cancel(ctx, d); err != nil {
				return err
			}
		default:
			moving = append(moving, d)
		}
	}
	for of, all := range orders {
		for part := range slices.Chunk(all, domain.MaxBulkItems) {
			if err := p.book(ctx, of, part); err != nil {
				return err
			}
		}
	}
	for part := range slices.Chunk(moving, domain.MaxMoves) {
		if err := p.move(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) book(ctx context.Context, of int, those []*delivery) error {
	var body waybillapi.BulkRequest
	for _, d := range those {
		body.Deliveries = append(body.Deliveries, d.order)
	}
	made, err := p.clients[of].CreateDeliveries(ctx, fmt.Sprintf("day-%s-%d-%d-%d", p.run, p.rounds, of, p.booked), body)
	if err != nil {
		return fmt.Errorf("%s books: %w", customers[of].name, err)
	}
	for i, result := range made.Results {
		d := those[i]
		if result.Delivery == nil {
			return fmt.Errorf("%s books %+v: %+v", customers[of].name, d.order, result.Error)
		}
		d.id, d.next = result.Delivery.ID, d.next+1
		p.booked++
	}
	return nil
}

func (p *player) cancel(ctx context.Context, d *delivery) error {
	_, err := p.clients[d.of].CancelDelivery(ctx, d.id)
	switch {
	case err == nil:
		d.next++
		p.cancelled++
	case waybillapi.HasCode(err, waybillapi.CodeDeliveryNotCancellable):
		d.takenOut = true
		p.refused++
	default:
		return fmt.Errorf("%s cancels %s: %w", customers[d.of].name, d.id, err)
	}
	return nil
}

func (p *player) move(ctx context.Context, those []*delivery) error {
	answers, err := p.advance(ctx, fmt.Sprintf("day-%s-%d-%s", p.run, p.rounds, those[0].id), those)
	if err != nil {
		return err
	}
	for i, answer := range answers {
		switch answer.Outcome {
		case "advanced":
			those[i].next++
			p.moves++
		case "already_there", "refused":
			those[i].takenOut = true
			p.refused++
		default:
			return fmt.Errorf("%s: %s", those[i].id, answer.Outcome)
		}
	}
	return nil
}
