package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// longestLine limits the bytes of one message. An order has a few hundred.
const longestLine = 1 << 20

// lines reads the messages of an input, one a line. It responds to an invalid line itself and
// skips it: the server would end its session for it.
type lines struct {
	in   *bufio.Reader
	out  io.Writer
	rest []byte // of the line that is being read
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReader(in), out: out}
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, tooLong, err := l.next()
		if err != nil && len(bytes.TrimSpace(line)) == 0 {
			return 0, err
		}
		if problem := wrong(line, tooLong); problem != nil {
			if err := l.refuse(problem); err != nil {
				return 0, err
			}
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.rest = append(line, '\n')
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next line. It discards the rest of a line that is too long.
func (l *lines) next() (line []byte, tooLong bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > longestLine; tooLong {
			line = line[:0]
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// wrong returns the error for a line that is no message.
func wrong(line []byte, tooLong bool) *jsonrpc.Error {
	line = bytes.TrimSpace(line)
	switch {
	case tooLong:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a message has at most 1 MiB; send less"}
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the line is not JSON; send one message a line"}
	case line[0] != '{':
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a message is one JSON object; batches are not taken"}
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the line is no message of JSON-RPC 2.0"}
	}
	return nil
}

func (l *lines) refuse(problem *jsonrpc.Error) error {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": problem})
	if err != nil {
		return err
	}
	_, err = l.out.Write(append(text, '\n'))
	return err
}

// scrubbed writes whole messages, without keys. Several goroutines may write.
type scrubbed struct {
	mu  sync.Mutex
	to  io.Writer
	key string
}

// reKey finds whole API keys and secrets of webhooks, also those of other customers.
var reKey = regexp.MustCompile(`svc_(?:live|test)_key_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}`)

func (s *scrubbed) Write(message []byte) (int, error) {
	clean := reKey.ReplaceAllLiteral(message, []byte("[secret removed]"))
	if s.key != "" {
		clean = bytes.ReplaceAll(clean, []byte(s.key), []byte("[secret removed]"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.to.Write(clean); err != nil {
		return 0, err
	}
	return len(message), nil
}

// Close leaves the output open: it belongs to the process.
func (s *scrubbed) Close() error { return nil }
