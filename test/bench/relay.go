package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// relay is between a process and a server, and counts round trips: whatever was sent
// before an answer began is one. It names each by what was asked.
type relay struct {
	listener net.Listener
	target   string
	reader   func() asked

	mu    sync.Mutex
	trips map[string]int
	conns []net.Conn
	ended bool
}

// asked reads what a client sends on one connection, in any pieces, and names what
// has become whole.
type asked func(sent []byte) (names []string)

func startRelay(target string, reader func() asked) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, target: target, reader: reader, trips: map[string]int{}}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.carry(client)
		}
	}()
	return r, nil
}

// through is a URL that leads to the relay.
func (r *relay) through(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of the server is not a URL") // it may hold a password
	}
	u.Host = r.listener.Addr().String()
	return u.String(), nil
}

func (r *relay) carry(client net.Conn) {
	server, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = client.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, client, server)
	if r.ended {
		_, _ = client.Close(), server.Close()
	}
	r.mu.Unlock()
	var mu sync.Mutex
	var names []string // of what is on its way
	read, underWay := r.reader(), false
	go func() {
		defer server.Close()
		copied(server, client, func(sent []byte) {
			mu.Lock()
			defer mu.Unlock()
			underWay = true
			for _, name := range read(sent) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		})
	}()
	defer client.Close()
	copied(client, server, func([]byte) {
		mu.Lock()
		defer mu.Unlock()
		if underWay && len(names) > 0 {
			r.mu.Lock()
			r.trips[together(names)]++
			r.mu.Unlock()
		}
		underWay, names = false, nil
	})
}

// together names what goes in one round trip.
func together(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// copied carries bytes until either side ends; told hears of them before they go on.
func copied(to io.Writer, from io.Reader, told func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			told(buffer[:n])
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// take is what was counted since it was last called.
func (r *relay) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.trips
	r.trips = map[string]int{}
	return taken
}

func (r *relay) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, c := range r.conns {
		_ = c.Close()
	}
	return r.listener.Close()
}

var (
	respCommand = regexp.MustCompile(`\*\d+\r\n\$\d+\r\n([A-Za-z]+)\r\n`)
	sqlVerb     = regexp.MustCompile(`^\s*(?:--[^\n]*\n\s*)*([A-Za-z]+)`)
	sqlTable    = regexp.MustCompile(`(?i)\b(?:from|join|into|update)\s+"?([a-z_]+)`)
)

// redisCommands names commands; one that is cut in two by its sender is named by neither part.
func redisCommands() asked {
	return func(sent []byte) (names []string) {
		for _, found := range respCommand.FindAllSubmatch(sent, -1) {
			names = append(names, strings.ToUpper(string(found[1])))
		}
		return names
	}
}

// statementName is the verb of a statement and the first table that it names.
func statementName(sql string) string {
	verb := sqlVerb.FindStringSubmatch(sql)
	if verb == nil {
		return "empty"
	}
	for _, table := range sqlTable.FindAllStringSubmatch(sql, -1) {
		if word := strings.ToLower(table[1]); word != "unnest" && word != "lateral" { // parameters as a table, and what is joined with them
			return strings.ToUpper(verb[1]) + " " + table[1]
		}
	}
	return strings.ToUpper(verb[1])
}

// postgresStatements names statements as they are executed, also those that were
// prepared before.
func postgresStatements() asked {
	var pending []byte
	started := false
	prepared := map[string]string{}
	return func(sent []byte) (names []string) {
		pending = append(pending, sent...)
		for {
			head := 1
			if !started {
				head = 0 // the first message has no type
			}
			if len(pending) < head+4 {
				return names
			}
			size := head + int(binary.BigEndian.Uint32(pending[head:]))
			if len(pending) < size {
				return names
			}
			message := pending[:size]
			pending = pending[size:]
			if !started {
				started = true
				names = append(names, "connect")
				continue
			}
			switch body := message[5:]; message[0] {
			case 'Q':
				names = append(names, statementName(upToZero(&body)))
			case 'P':
				name := upToZero(&body)
				prepared[name] = statementName(upToZero(&body))
			case 'B':
				upToZero(&body) // the portal
				names = append(names, prepared[upToZero(&body)])
			case 'D':
				if len(body) > 0 && body[0] == 'S' {
					names = append(names, "prepare")
				}
			}
		}
	}
}

// upToZero takes a text that ends with a zero byte.
func upToZero(of *[]byte) string {
	text, rest, _ := bytes.Cut(*of, []byte{0})
	*of = rest
	return string(text)
}

// throughRelays are settings with a relay before Postgres and Redis each; they are to be closed, also after an error.
func throughRelays(env []string) (_ []string, relays []*relay, err error) {
	env = slices.Clone(env)
	for setting, reader := range map[string]func() asked{"WAYBILL_DATABASE_URL=": postgresStatements, "WAYBILL_REDIS_URL=": redisCommands} {
		for i, v := range env {
			address, ok := strings.CutPrefix(v, setting)
			if !ok {
				continue
			}
			u, err := url.Parse(address)
			if err != nil {
				return nil, relays, fmt.Errorf("%s is not a URL", setting)
			}
			r, err := startRelay(u.Host, reader)
			if err != nil {
				return nil, relays, err
			}
			relays = append(relays, r)
			if address, err = r.through(address); err != nil {
				return nil, relays, err
			}
			env[i] = setting + address
		}
	}
	return env, relays, nil
}

func closeAll(relays []*relay) (err error) {
	for _, r := range relays {
		err = errors.Join(err, r.close())
	}
	return err
}

// roundTrips counts those of a server of the program for a create at a steady pace, by what was asked. It is a server of
// its own, beside the one that is measured: a relay takes time.
func (in *installation) roundTrips(ctx context.Context, perSecond float64, run paceLoad) (trips map[string]float64, err error) {
	env, relays, err := throughRelays(in.env)
	defer func() { err = errors.Join(err, closeAll(relays)) }()
	if err != nil {
		return nil, err
	}
	s, err := launch(ctx, in.binary, in.dir, "serve", env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	run.addresses = []string{s.address}
	trips = map[string]float64{}
	for range 2 { // what is prepared once is in the first only
		for _, r := range relays {
			r.take()
		}
		m, err := run.openLoop(ctx, perSecond)
		if err != nil {
			return nil, err
		}
		clear(trips)
		for _, r := range relays {
			for name, n := range r.take() {
				trips[name] += float64(n) / float64(m.operations)
			}
		}
	}
	return trips, nil
}
