package sample

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
	"waybill/domain"
)

// Letter is a webhook as a receiver gets it, and whether it is to be believed.
type Letter struct {
	What    string            `json:"what"`
	Secret  string            `json:"secret"` // the first one
	Secrets []string          `json:"secrets"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Now     int64             `json:"now"`
	Good    bool              `json:"-"`
}

// All are the published one, others as the service signs them, and each of them spoilt.
func All(t *testing.T) []Letter {
	t.Helper()
	var doc struct {
		Webhooks struct {
			Event struct {
				Post struct {
					Vector map[string]string `yaml:"x-waybill-test-vector"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(httpapi.OpenAPI.YAML(), &doc); err != nil {
		t.Fatal(err)
	}
	v := doc.Webhooks.Event.Post.Vector
	signed, err := strconv.ParseInt(v[domain.HeaderWebhookTimestamp], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(signed, 0)
	published := Letter{What: "published", Secrets: []string{v["secret"]}, Body: v["body"], Now: at.Unix(), Good: true,
		Headers: map[string]string{}}
	for _, name := range []string{domain.HeaderWebhookID, domain.HeaderWebhookTimestamp, domain.HeaderWebhookSignature} {
		published.Headers[name] = v[name]
	}
	one, other := bytes.Repeat([]byte{7}, domain.SigningSecretBytes), bytes.Repeat([]byte{9}, domain.SigningSecretBytes)
	sign := func(what string, now time.Time, known []byte, by ...[]byte) Letter {
		const id, body = "evt_1", `{"id":"evt_1","type":"delivery.created","to":"Kofi Agyemañ, Ɔkra"}`
		return Letter{What: what, Secrets: []string{domain.FormatSigningSecret(known)}, Body: body, Now: now.Unix(), Good: true,
			Headers: map[string]string{
				domain.HeaderWebhookID: id, domain.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
				domain.HeaderWebhookSignature: domain.SignWebhook(by, id, at, []byte(body)),
			}}
	}
	both := sign("both secrets are known", at, other, one)
	both.Secrets = append(both.Secrets, domain.FormatSigningSecret(one))
	all := []Letter{
		published, both,
		sign("two signatures, ours first", at, one, one, other),
		sign("two signatures, ours last", at, other, one, other),
		sign("nearly too old", at.Add(300*time.Second), one, one),
		sign("nearly from the future", at.Add(-300*time.Second), one, one),
	}
	for _, l := range all {
		spoil := func(what string, change func(*Letter)) {
			bad := l
			bad.What, bad.Good, bad.Headers = l.What+": "+what, false, map[string]string{}
			for name, value := range l.Headers {
				bad.Headers[name] = value
			}
			change(&bad)
			all = append(all, bad)
		}
		spoil("another body", func(l *Letter) { l.Body += " " })
		spoil("a body with a space in it", func(l *Letter) { l.Body = strings.Replace(l.Body, "{", "{ ", 1) })
		spoil("another ID", func(l *Letter) { l.Headers[domain.HeaderWebhookID] += "0" })
		spoil("another time", func(l *Letter) { l.Headers[domain.HeaderWebhookTimestamp] = strconv.FormatInt(at.Unix()-1, 10) })
		spoil("a time that is none", func(l *Letter) { l.Headers[domain.HeaderWebhookTimestamp] = "now" })
		spoil("another signature", func(l *Letter) {
			signatures := strings.Fields(l.Headers[domain.HeaderWebhookSignature])
			for i, s := range signatures { // each begins with its version
				other := "A"
				if s[3:4] == other {
					other = "B"
				}
				signatures[i] = s[:3] + other + s[4:]
			}
			l.Headers[domain.HeaderWebhookSignature] = strings.Join(signatures, " ")
		})
		spoil("another secret", func(l *Letter) { l.Secrets = []string{domain.FormatSigningSecret(bytes.Repeat([]byte{1}, 32))} })
		spoil("another version", func(l *Letter) {
			l.Headers[domain.HeaderWebhookSignature] = strings.ReplaceAll(l.Headers[domain.HeaderWebhookSignature], "v1,", "v2,")
		})
		spoil("no version", func(l *Letter) {
			l.Headers[domain.HeaderWebhookSignature] = strings.ReplaceAll(l.Headers[domain.HeaderWebhookSignature], "v1,", "")
		})
		spoil("a signature cut short", func(l *Letter) {
			l.Headers[domain.HeaderWebhookSignature] = l.Headers[domain.HeaderWebhookSignature][:20]
		})
		spoil("too old", func(l *Letter) { l.Now = at.Unix() + 301 })
		spoil("from the future", func(l *Letter) { l.Now = at.Unix() - 301 })
		for name := range l.Headers {
			spoil("no "+name, func(l *Letter) { delete(l.Headers, name) })
		}
	}
	for i := range all {
		all[i].Secret = all[i].Secrets[0]
	}
	return all
}
