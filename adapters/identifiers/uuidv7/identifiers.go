package uuidv7

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/google/uuid"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Identifiers = Identifiers{}

// Identifiers draws what must never repeat.
type Identifiers struct{}

// New returns a source of identifiers.
func New() Identifiers { return Identifiers{} }

// ID makes an ID of the kind.
func (Identifiers) ID(p domain.Prefix) domain.ID {
	// The reader is named: uuid.NewV7 draws from a source that any package
	// may replace. crypto/rand ends the process rather than return an error.
	return domain.MakeID(p, uuid.Must(uuid.NewV7FromReader(rand.Reader)))
}

// Reference makes a reference of 60 random bits.
func (Identifiers) Reference() domain.Reference {
	var bits [8]byte
	_, _ = rand.Read(bits[:]) // never fails: it ends the process instead
	return domain.MakeReference(binary.BigEndian.Uint64(bits[:]))
}

// APIKey makes a secret for the environment.
func (Identifiers) APIKey(e domain.Environment) string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	return domain.MakeAPIKey(e, random)
}

// SigningSecret makes a secret of random bytes.
func (Identifiers) SigningSecret() (secret [32]byte) {
	_, _ = rand.Read(secret[:]) // never fails: it ends the process instead
	return secret
}
