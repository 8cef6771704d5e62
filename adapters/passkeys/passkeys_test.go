package passkeys_test

import (
	"errors"
	"strings"
	"testing"

	"waybill/adapters/passkeys"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

const (
	base   = "https://portal.example.com:8443"
	origin = base
)

var challenge = [32]byte{1, 2, 3}

func newParty(t *testing.T, base string) *passkeys.Party {
	t.Helper()
	p, err := passkeys.New(base)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func person() domain.Person {
	return domain.Person{ID: sample.ID(domain.PrefixPerson), Name: "Ama Mensah", Email: "ama@example.com"}
}

// add creates a passkey of the device.
func add(t *testing.T, p *passkeys.Party, d *stage.Device, of domain.Person) domain.Passkey {
	t.Helper()
	options, err := p.CreationOptions(challenge, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := p.Created(challenge, of, d.Make(t, options))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestAPasskeyThatWasMadeLetsIn(t *testing.T) {
	t.Parallel()
	p, ama := newParty(t, base), person()
	for _, d := range []*stage.Device{{Origin: origin, Count: 7}, {Origin: origin, Syncs: true}} {
		first := d.Count
		made := add(t, p, d, ama)
		if made.PersonID != ama.ID || made.Host != "portal.example.com" || made.SignCount != first || made.Syncs != d.Syncs ||
			len(made.CredentialID) != 16 {
			t.Errorf("%+v", made)
		}
		options, err := p.RequestOptions([32]byte{9}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := d.Count
		answer := d.Use(t, options)
		if id, who, err := p.Names(answer); string(id) != string(made.CredentialID) || who != ama.ID || err != nil {
			t.Errorf("%x of %s, %v", id, who, err)
		}
		if count, err := p.Verify([32]byte{9}, answer, made); count != want || err != nil {
			t.Errorf("counted %d, %v, want %d", count, err, want)
		}
	}
}

func TestThePageAsksForAVerifiedPersonAndForNoDeviceThatIsKnown(t *testing.T) {
	t.Parallel()
	p := newParty(t, base)
	known := []domain.Passkey{{CredentialID: []byte("known")}}
	creation, err := p.CreationOptions(challenge, person(), known)
	if err != nil {
		t.Fatal(err)
	}
	request, err := p.RequestOptions(challenge, known)
	if err != nil {
		t.Fatal(err)
	}
	for options, wants := range map[string][]string{
		string(creation): {
			`"userVerification":"required"`, `"residentKey":"required"`, `"excludeCredentials":[{`, `"id":"a25vd24"`, `"id":"portal.example.com"`,
			`"timeout":300000`,
		},
		string(request): {
			`"userVerification":"required"`, `"allowCredentials":[{`, `"id":"a25vd24"`, `"rpId":"portal.example.com"`, `"timeout":300000`,
		},
	} {
		for _, want := range wants {
			if !strings.Contains(options, want) {
				t.Errorf("the options lack %s: %s", want, options)
			}
		}
	}
}

func TestAMadeUpCeremonyIsRefused(t *testing.T) {
	t.Parallel()
	p, ama := newParty(t, base), person()
	device := func() *stage.Device { return &stage.Device{Origin: origin, Count: 1} }
	for what, spoil := range map[string]func(d *stage.Device) (asked [32]byte){
		"a foreign origin": func(d *stage.Device) [32]byte {
			d.Origin = "https://portal.example.com.evil.example"
			return challenge
		},
		"another port":         func(d *stage.Device) [32]byte { d.Origin = "https://portal.example.com"; return challenge },
		"a foreign host":       func(d *stage.Device) [32]byte { d.Host = "evil.example"; return challenge },
		"an unverified person": func(d *stage.Device) [32]byte { d.Unverified = true; return challenge },
		"another challenge":    func(*stage.Device) [32]byte { return [32]byte{4} },
	} {
		d := device()
		asked := spoil(d)
		options, err := p.CreationOptions(asked, ama, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Created(challenge, ama, d.Make(t, options)); !errors.Is(err, ports.ErrPasskeyRefused) {
			t.Errorf("%s, made: %v", what, err)
		}
		d = device()
		made := add(t, p, d, ama)
		if asked = spoil(d); what == "another challenge" {
			asked = [32]byte{4}
		}
		if options, err = p.RequestOptions(asked, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Verify(challenge, d.Use(t, options), made); !errors.Is(err, ports.ErrPasskeyRefused) {
			t.Errorf("%s, used: %v", what, err)
		}
	}
	d := device()
	made := add(t, p, d, ama)
	options, err := p.RequestOptions(challenge, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := d.Use(t, options)
	other := add(t, p, device(), ama)
	other.CredentialID = made.CredentialID
	syncs := made
	syncs.Syncs = true
	stolen := made
	stolen.PersonID = person().ID
	for what, k := range map[string]domain.Passkey{
		"the signature of another key": other, "a key that syncs by now": syncs, "another person's": stolen,
	} {
		if _, err := p.Verify(challenge, good, k); !errors.Is(err, ports.ErrPasskeyRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := p.Created(challenge, person(), good); !errors.Is(err, ports.ErrPasskeyRefused) {
		t.Errorf("a use as a new passkey: %v", err)
	}
	spoiled := strings.Replace(string(good), `"signature":"`, `"signature":"AAAA`, 1)
	for _, answer := range []string{"", "{}", "null", "[]", `{"id":"x"}`, spoiled, string(good[:len(good)-1])} {
		_, _, namesErr := p.Names([]byte(answer))
		_, err := p.Verify(challenge, []byte(answer), made)
		if !errors.Is(err, ports.ErrPasskeyRefused) || namesErr != nil && !errors.Is(namesErr, ports.ErrPasskeyRefused) {
			t.Errorf("%.40s: %v, %v", answer, err, namesErr)
		}
		if _, err := p.Created(challenge, ama, []byte(answer)); !errors.Is(err, ports.ErrPasskeyRefused) {
			t.Errorf("%.40s, made: %v", answer, err)
		}
	}
}

func TestWhereBrowsersHaveNoPasskeysTheReasonIsTold(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://127.0.0.1:8084": "is a number", "http://[::1]:8084": "is a number",
		"http://portal.example.com": "without https", "": "with a host",
	} {
		p := newParty(t, base)
		_, err := p.Host()
		_, creation := p.CreationOptions(challenge, person(), nil)
		_, request := p.RequestOptions(challenge, nil)
		for _, err := range []error{err, creation, request} {
			if !domain.HasCode(err, domain.CodePasskeysUnavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", base, err)
			}
		}
	}
	for base, want := range map[string]string{
		"http://localhost:8084": "localhost", "https://Portal.Example.com": "portal.example.com", "http://portal.localhost": "portal.localhost",
	} {
		if host, err := newParty(t, base).Host(); host != want || err != nil {
			t.Errorf("%s: %q, %v", base, host, err)
		}
	}
}
