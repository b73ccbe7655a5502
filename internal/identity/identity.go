package identity

import (
	"context"
	"strings"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Token authenticates requests to a target.
type Token struct {
	// Value is sent as bearer token.
	Value string
	// Expiry is when the target no longer accepts it. Zero means never.
	Expiry time.Time
}

// A Source mints tokens. Its method is not called concurrently.
type Source interface {
	// Token returns a new token. Its error is safe to show.
	Token(ctx context.Context) (Token, error)
}

// A Writer is who has written credentials, which decides what they may name.
type Writer int

const (
	// WriterTenant may use only what the credentials themselves hold. It is the zero value.
	WriterTenant Writer = iota
	// WriterOperator may use the files and surroundings of the provider too.
	WriterOperator
)

// Static returns a Source of one token that does not end. A token that cannot be sent is an error.
func Static(token string) (Source, error) {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("token is empty or has characters that no token has")
	}
	return static(token), nil
}

type static string

// Token returns the token.
func (s static) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// failedError means that a Source gives no token.
type failedError struct{ error }

// Unwrap returns the cause.
func (e failedError) Unwrap() error { return e.error }

// IsFailed reports whether an error means that an identity gives no token.
func IsFailed(err error) bool { return errors.As(err, &failedError{}) }

// errPending is the error while it is too early to say whether there is a token. crossplane-runtime requeues conflicts
// silently.
var errPending = apierrors.NewConflict(schema.GroupResource{Resource: "targets"}, "",
	errors.New("waiting for a token of the identity"))
