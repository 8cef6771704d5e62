package redis_test

import (
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	waybillredis "waybill/adapters/redis"
	"waybill/test/backend"
)

// Each Redis of this test answers PING.
func TestARedisThatAnswersAndRefusesWhatIsNeededIsNotUsable(t *testing.T) {
	t.Parallel()
	acl := func(rules ...any) func(*goredis.Client) error {
		return func(admin *goredis.Client) error {
			return admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "default"}, rules...)...).Err()
		}
	}
	for name, c := range map[string]struct {
		change func(admin *goredis.Client) error
		want   []string // in the error; none: it is usable
	}{
		"as it is":         {func(*goredis.Client) error { return nil }, nil},
		"the least rights": {acl("resetkeys", "~waybill:*", "~asynq:*", "resetchannels", "&waybill:*"), nil},
		"no scripts":       {acl("-@scripting"), []string{"a script that writes", "NOPERM"}},
		"no writes":        {acl("-@write"), []string{"a script that writes", "can't run"}},
		"other keys":       {acl("resetkeys", "~other:*"), []string{"a script that writes", "NOPERM"}},
		"no queue":         {acl("resetkeys", "~waybill:*"), []string{"a script that writes", "NOPERM"}},
		"other channels":   {acl("resetchannels", "&other:*"), []string{"a subscription", "NOPERM"}},
		"no publishing":    {acl("-publish"), []string{"a message to a channel", "NOPERM"}},
		"full": {func(admin *goredis.Client) error { return admin.ConfigSet(t.Context(), "maxmemory", "1").Err() },
			[]string{"a script that writes", "OOM"}},
		"a replica": {func(admin *goredis.Client) error { return admin.ReplicaOf(t.Context(), "127.0.0.1", "1").Err() },
			[]string{"a script that writes", "READONLY"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := openOwn(t, backend.OwnRedis(t))
			if err := c.change(client); err != nil {
				t.Fatal(err)
			}
			if err := client.Ping(t.Context()).Err(); err != nil {
				t.Fatalf("it does not answer: %v", err)
			}
			err := waybillredis.Usable(t.Context(), client)
			if (err == nil) != (c.want == nil) {
				t.Fatalf("usable: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestATrialIsRepeatedAfterAMoment(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	trial := waybillredis.NewTrial(openOwn(t, server))
	if err := trial.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for deadline := time.Now().Add(30 * time.Second); trial.Run(t.Context()) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a Redis that is gone stays usable")
		}
	}
}

func openOwn(t *testing.T, server *backend.Redis) *goredis.Client {
	t.Helper()
	waybillredis.Silence()
	client, err := waybillredis.Open(server.URL, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
