package projection

import (
	"fmt"

	"github.com/pkg/errors"
)

// A Reason says in one word why an API cannot be published.
type Reason string

const (
	// NotServed means that the service cluster does not serve what is to be published.
	NotServed Reason = "NotServed"
	// InvalidVersion means that the choice or the names of versions cannot be.
	InvalidVersion Reason = "InvalidVersion"
	// InvalidName means that kcp serves no API of such a name.
	InvalidName Reason = "InvalidProjectedName"
	// InvalidSchema means that kcp would refuse the schema, and that it cannot be repaired.
	InvalidSchema Reason = "InvalidSchema"
	// TooLarge means that kcp could not store the schema.
	TooLarge Reason = "SchemaTooLarge"
)

// An Error means that an API cannot be published until it or the PublishedResource is changed.
type Error struct {
	Reason  Reason
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ReasonOf returns the reason of an Error that caused err, empty if none did.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func failf(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Message: fmt.Sprintf(format, args...)}
}
