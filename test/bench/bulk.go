package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// bulkSize is how many deliveries a bulk books: as many as it may.
const bulkSize = 100

// bulkRequest has a place of the number in its key, and one in each item, which
// is an order like that of a create.
func bulkRequest(address, key string) []byte {
	items := strings.TrimSuffix(strings.Repeat(orderBody+",", bulkSize), ",")
	return postRequest(address, key, "/v1/deliveries/bulk", "bench-bulk-"+placeholder, `{"deliveries":[`+items+`]}`)
}

// bulk books bulkSize deliveries of the numbers from one on.
func (c *conn) bulk(number int) (answer, error) {
	key, items := c.numbers[0], c.numbers[1:]
	writeDigits(c.request[key:key+numberDigits], number)
	for i, at := range items {
		writeDigits(c.request[at:at+numberDigits], number+i)
	}
	for i, at := range c.phones {
		writeDigits(c.request[at:at+numberDigits], number+i)
	}
	return c.exchange()
}

// bulks sends bulks that were never sent before; what is counted is deliveries.
func (b *bench) bulks(ctx context.Context, s *server, duration time.Duration) (measurement, error) {
	l := &load{address: s.address, keys: s.keys, connections: b.bulkConnections}
	m, err := l.drive(ctx, duration, work{
		request: bulkRequest, size: bulkSize,
		next:     func(int) int { return int(b.created[0].Add(bulkSize)) - bulkSize + 1 },
		send:     (*conn).bulk,
		expected: func(a answer) bool { return a.status == http.StatusCreated && !a.replayed },
	})
	if err == nil {
		err = b.enoughNumbers(0)
	}
	return m, err
}

// enoughNumbers refuses to go on where numbers would come again.
func (b *bench) enoughNumbers(of int) error {
	if b.created[of].Load() > pow10(numberDigits) {
		return fmt.Errorf("more than %d creates: the numbers begin to repeat; take fewer or shorter rounds", pow10(numberDigits))
	}
	return nil
}
