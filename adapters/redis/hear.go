package redis

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

var errSilent = errors.New("the connection is silent")

// hearChannel connects once and listens until the connection is lost or ctx ends, and returns
// the reason. It calls connected once subscribed, and then message for each message, one call
// at a time. It pings a connection that is silent for pingAfter, and closes one that is silent
// for as long again.
func hearChannel(ctx context.Context, client redis.UniversalClient, channel string, pingAfter time.Duration, connected func(),
	message func(payload string)) error {
	subscription := client.Subscribe(ctx)
	defer subscription.Close()
	// A blocked read does not notice that a context ends.
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	if err := subscription.Subscribe(ctx, channel); err != nil {
		return err
	}
	for asked := false; ; {
		heard, err := subscription.ReceiveTimeout(ctx, pingAfter)
		var failed net.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &failed) && failed.Timeout():
			if asked {
				return errSilent
			}
			asked = true
			if err := subscription.Ping(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		asked = false
		switch word := heard.(type) {
		case *redis.Subscription:
			connected()
		case *redis.Message:
			message(word.Payload)
		}
	}
}
