package clients

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/adapters/clients/go/waybillapi"
	"waybill/domain"
	"waybill/test/program"
	"waybill/test/sample"
)

func TestTheClientInGoBelievesWhatIsSignedAndNothingElse(t *testing.T) {
	for _, l := range sample.All(t) {
		v, err := waybillapi.NewVerifier(l.Secrets...)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		for name, value := range l.Headers {
			header.Set(name, value)
		}
		event, err := v.WithClock(func() time.Time { return time.Unix(l.Now, 0) }).Event(header, []byte(l.Body))
		if l.Good != (err == nil) || !l.Good && !errors.Is(err, waybillapi.ErrWebhook) || l.Good &&
			event.ID != l.Headers[domain.HeaderWebhookID] {
			t.Errorf("%s: %+v, %v", l.What, event, err)
		}
	}
}

// WebhookEvent is written by hand: a field that the description gains has to be added to it.
func TestAWebhookEventHasEveryFieldOfBothKinds(t *testing.T) {
	fields := func(of any) (all []string) {
		for f := range reflect.TypeOf(of).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, name)
		}
		return all
	}
	for _, c := range []struct{ have, want any }{
		{waybillapi.WebhookEvent{}, waybillapi.PublishedDeliveryEvent{}}, {waybillapi.WebhookEventData{}, waybillapi.PublishedDeliveryEventData{}},
		{waybillapi.WebhookEvent{}, waybillapi.PublishedEndpointEvent{}}, {waybillapi.WebhookEventData{}, waybillapi.PublishedEndpointEventData{}},
	} {
		for _, name := range fields(c.want) {
			if !slices.Contains(fields(c.have), name) {
				t.Errorf("%T lacks %s of %T", c.have, name, c.want)
			}
		}
	}
}

func TestTheClientInTypeScriptBelievesWhatIsSignedAndNothingElse(t *testing.T) {
	t.Parallel()
	program := filepath.Join(compiled(t), "test", "clients", "typescript", "verify.mjs")
	all := sample.All(t)
	input, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	verdicts := strings.Fields(output(t, string(input), nil, "node", program))
	if len(verdicts) != len(all) {
		t.Fatalf("%d verdicts on %d letters", len(verdicts), len(all))
	}
	for i, l := range all {
		if verdicts[i] != strconv.FormatBool(l.Good) {
			t.Errorf("%s: believed is %s, want %t", l.What, verdicts[i], l.Good)
		}
	}
}

func TestTheClientInTypeScriptBooksAndVerifiesTheWebhook(t *testing.T) {
	t.Parallel()
	script := filepath.Join(compiled(t), "test", "clients", "typescript", "book.mjs")
	s := program.Shared(t)
	var got struct {
		Delivery, Status, Code, Event, Of, First string
		Same, Replayed, RefusedSpoilt            bool
		Listed                                   int
	}
	told := output(t, "", []string{"BASE_URL=" + s.Vars["WAYBILL_SANDBOX_URL"], "API_KEY=" + s.Vars["WAYBILL_TEST_KEY"]}, "node", script)
	if err := json.Unmarshal([]byte(told), &got); err != nil {
		t.Fatalf("%v\n%s", err, told)
	}
	if got.Status != "booked" || !got.Same || !got.Replayed || got.Listed < 3 || got.First != got.Delivery || got.Code != "NOT_FOUND" {
		t.Errorf("the calls came out as %s", told)
	}
	if got.Event != "delivery.created" || got.Of != got.Delivery || !got.RefusedSpoilt {
		t.Errorf("the webhook came out as %s", told)
	}
}

var compile sync.Mutex

// compiled checks the client in TypeScript and the programs that use it, as
// strictly as there is, and returns the folder of what node runs. It is made
// once.
func compiled(t *testing.T) string {
	t.Helper()
	modules := filepath.Join(tools(t), "node_modules")
	compile.Lock()
	defer compile.Unlock()
	out := filepath.Join(program.Home, "compiled")
	done := filepath.Join(out, "package.json")
	if _, err := os.Stat(done); err == nil {
		return out
	}
	output(t, "", nil, filepath.Join(modules, ".bin", "tsc"), "-p", "typescript", "--typeRoots", filepath.Join(modules, "@types"), "--outDir",
		out)
	write(t, done, `{"type":"module"}`)
	return out
}

func TestTheClientInTypeScriptCompilesAlone(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(tools(t), "node_modules")
	dir := t.TempDir()
	for _, name := range files(t, filepath.Join(adapters, "typescript")) {
		text, err := os.ReadFile(filepath.Join(adapters, "typescript", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	output(t, "", nil, filepath.Join(modules, ".bin", "tsc"), "-p", dir, "--typeRoots", filepath.Join(modules, "@types"))
	output(t, "", nil, "node", "--input-type=module", "-e",
		`const c = await import(`+strconv.Quote(filepath.Join(dir, "dist", "index.js"))+`);
if (typeof c.createClient({ baseUrl: "http://127.0.0.1/v1", apiKey: "k" }).createDelivery !== "function") process.exit(1);`)
}
