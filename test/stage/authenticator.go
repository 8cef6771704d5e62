package stage

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// Device keeps passkeys. Its fields may be changed between two answers.
type Device struct {
	Origin     string // of the page that it believes to answer
	Host       string // empty: the one of the options
	Unverified bool   // the person was not verified
	Count      uint32 // of uses, in the next answer; it grows by itself unless it is 0
	Syncs      bool
	Handle     []byte // of the person; nil: the one the passkey was made for

	keys []key
}

type key struct {
	id, user []byte
	private  *ecdsa.PrivateKey
}

const (
	userPresent    = 0x01
	userVerified   = 0x04
	backupEligible = 0x08
	attested       = 0x40
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func unb64(t *testing.T, text string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unmarshal(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// clientData is what the browser signs with.
func (d *Device) clientData(t *testing.T, kind, challenge string) []byte {
	t.Helper()
	return marshal(t, map[string]any{"type": kind, "challenge": challenge, "origin": d.Origin, "crossOrigin": false})
}

// data is what the device signs, for a host.
func (d *Device) data(host string, more ...byte) []byte {
	if d.Host != "" {
		host = d.Host
	}
	sum := sha256.Sum256([]byte(host))
	flags := byte(userPresent)
	if !d.Unverified {
		flags |= userVerified
	}
	if d.Syncs {
		flags |= backupEligible
	}
	if len(more) > 0 {
		flags |= attested
	}
	data := binary.BigEndian.AppendUint32(append(sum[:], flags), d.Count)
	if d.Count > 0 {
		d.Count++
	}
	return append(data, more...)
}

// Make answers the options for a new passkey.
func (d *Device) Make(t *testing.T, options []byte) []byte {
	t.Helper()
	var o struct {
		Challenge string
		RP        struct{ ID string }
		User      struct{ ID string }
	}
	unmarshal(t, options, &o)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	k := key{id: make([]byte, 16), user: unb64(t, o.User.ID), private: private}
	_, _ = rand.Read(k.id) // never fails
	d.keys = append(d.keys, k)
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
	if err != nil {
		t.Fatal(err)
	}
	credential := append(make([]byte, 16), 0, byte(len(k.id))) // after the model of the device, which is none
	credential = append(append(credential, k.id...), public...)
	object, err := cbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": d.data(o.RP.ID, credential...)})
	if err != nil {
		t.Fatal(err)
	}
	return marshal(t, map[string]any{
		"id": b64(k.id), "rawId": b64(k.id), "type": "public-key",
		"clientExtensionResults": map[string]any{"credProps": map[string]bool{"rk": true}},
		"response": map[string]any{"clientDataJSON": b64(d.clientData(t, "webauthn.create", o.Challenge)),
			"attestationObject": b64(object)},
	})
}

// Use answers the options for a sign-in with the newest passkey.
func (d *Device) Use(t *testing.T, options []byte) []byte {
	t.Helper()
	var o struct{ Challenge, RPID string }
	unmarshal(t, options, &o)
	k := d.keys[len(d.keys)-1]
	clientData, data := d.clientData(t, "webauthn.get", o.Challenge), d.data(o.RPID)
	sum := sha256.Sum256(clientData)
	signed := sha256.Sum256(append(append([]byte(nil), data...), sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	user := k.user
	if d.Handle != nil {
		user = d.Handle
	}
	return marshal(t, map[string]any{
		"id": b64(k.id), "rawId": b64(k.id), "type": "public-key", "clientExtensionResults": map[string]any{},
		"response": map[string]any{
			"clientDataJSON": b64(clientData), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": b64(user),
		},
	})
}
