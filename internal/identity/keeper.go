package identity

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Timeout is how long a Source may take for a token.
	Timeout = 15 * time.Second
	// refreshEarly is how long before its end a token is replaced.
	refreshEarly = time.Minute
	// retryPause is after how long a Source that has failed is asked again, at the earliest.
	retryPause = 10 * time.Second
	// patience is how long a caller waits for a token.
	patience = 250 * time.Millisecond
)

// A Keeper caches the token of one Source. It mints the first one when it is needed. Its methods may be called
// concurrently.
type Keeper struct {
	tokens  oauth2.TokenSource
	changed func()
	minting singleflight.Group

	mu    sync.Mutex
	err   error     // of the last attempt, nil if it went well
	again time.Time // when a Source that has failed is asked again
}

// NewKeeper returns a Keeper that works until the context ends. It calls changed when a Source that had failed gives a
// token, and when one fails that had not.
func NewKeeper(ctx context.Context, s Source, changed func()) *Keeper {
	return &Keeper{tokens: oauth2.ReuseTokenSourceWithExpiry(nil, minter{ctx, s}, refreshEarly), changed: changed}
}

// Failure returns why there is no token, nil if there is one or that is not known. It asks nobody.
func (k *Keeper) Failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Wrap returns a transport that sends the token with each request, in place of any other credentials.
func (k *Keeper) Wrap(next http.RoundTripper) http.RoundTripper {
	return &oauth2.Transport{Source: k, Base: next}
}

// Token returns the token. Its error satisfies IsFailed if the Source gives none, or is a conflict while that is not
// known. Nobody waits for a Source that has failed.
func (k *Keeper) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	failed, early := k.err, time.Now().Before(k.again)
	if failed != nil && !early {
		k.again = time.Now().Add(retryPause)
	}
	k.mu.Unlock()
	if failed != nil && early {
		return nil, failed
	}
	minted := k.minting.DoChan("", k.mint)
	if failed != nil {
		return nil, failed
	}
	select {
	case r := <-minted:
		t, _ := r.Val.(*oauth2.Token)
		return t, r.Err
	case <-time.After(patience):
		return nil, errPending
	}
}

// mint returns the token, a new one if it must, and notes whether there is one.
func (k *Keeper) mint() (any, error) {
	t, err := k.tokens.Token()
	if err != nil {
		err = failedError{errors.Wrap(err, "cannot get a token of the identity")}
	}
	k.mu.Lock()
	changed := (k.err == nil) != (err == nil)
	if k.err = err; err != nil {
		k.again = time.Now().Add(retryPause)
	}
	k.mu.Unlock()
	if changed {
		k.changed()
	}
	return t, err
}

// A minter asks a Source, as an oauth2.TokenSource.
type minter struct {
	ctx    context.Context //nolint:containedctx // The life of the connection, which outlives requests and reconciles.
	source Source
}

// Token returns a new token. A panic of a vendor's library is an error: it must not end the provider for all others.
func (m minter) Token() (t *oauth2.Token, err error) {
	ctx, cancel := context.WithTimeout(m.ctx, Timeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errors.New("the library of the cloud crashes on the credentials: check that they are complete")
		}
	}()
	if t, err = m.source(ctx); err != nil {
		return nil, err
	}
	if !t.Expiry.IsZero() && !time.Now().Before(t.Expiry) {
		return nil, errors.New("the token that was issued has expired already: check the clock of the provider's node")
	}
	_, err = Static(t.AccessToken)
	return t, err
}

// A Source mints a new token, whose type is that of a bearer token. Its error is safe to show. It is not called
// concurrently.
type Source func(ctx context.Context) (*oauth2.Token, error)

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
		return nil, errors.New("token is empty or has characters that are not allowed in a token")
	}
	return func(context.Context) (*oauth2.Token, error) { return &oauth2.Token{AccessToken: token}, nil }, nil
}

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
