package identity

import (
	"context"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Timeout is how long a Source may take for a token.
	Timeout = 15 * time.Second
	// refreshEarly is how long before its end a token is replaced, unless it lives for less than five times as long.
	refreshEarly = 5 * time.Minute
	// retryFirst and retryMax bound the pause before a Source that has failed is asked again, which doubles each time.
	retryFirst = time.Second
	retryMax   = time.Minute
	// readyPatience is how long Ready waits for a token, and requestPatience how long a request does.
	readyPatience   = 250 * time.Millisecond
	requestPatience = 2 * time.Second
)

// A Keeper keeps the token of one Source. It mints the first when it is asked for one. Its methods may be called
// concurrently.
type Keeper struct {
	source Source
	ctx    context.Context //nolint:containedctx // The life of the connection, which outlives requests and reconciles.
	there  func()
	tried  func()

	mu      sync.Mutex
	token   Token
	renewAt time.Time
	err     error         // of the last attempt, nil if it went well
	known   chan struct{} // closed when the first attempt of a renewal is over; nil while none is under way
}

// NewKeeper returns a Keeper that works until the context ends. It calls there when a Source that had failed gives a
// token, and tried after each attempt to get one: what Failure returns may have changed.
func NewKeeper(ctx context.Context, s Source, there, tried func()) *Keeper {
	return &Keeper{source: s, ctx: ctx, there: there, tried: tried}
}

// Ready returns nil if there is a token. Its error satisfies IsFailed if the Source gives none, or is a conflict while
// that is not known.
func (k *Keeper) Ready(ctx context.Context) error {
	_, err := k.get(ctx, readyPatience)
	return err
}

// Failure returns why there is no token, nil if there is one or that is not known. It asks nobody.
func (k *Keeper) Failure() error {
	if _, over, err := k.verdict(); over {
		return err
	}
	return nil
}

// Wrap returns a transport that sends the token with each request.
func (k *Keeper) Wrap(next http.RoundTripper) http.RoundTripper {
	return transport{keeper: k, next: next}
}

// get returns the token, and waits for it if nothing is known about it. One that is due is renewed while it is still
// used.
func (k *Keeper) get(ctx context.Context, patience time.Duration) (string, error) {
	known := k.renewIfDue()
	if token, over, err := k.verdict(); over {
		return token, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-known:
	case <-ctx.Done():
	}
	token, _, err := k.verdict()
	return token, err
}

// renewIfDue starts a renewal if one is due, and returns a channel that is closed when its first attempt is over. It is
// nil if none is under way.
func (k *Keeper) renewIfDue() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil && (k.token.Value == "" || !k.renewAt.IsZero() && time.Now().After(k.renewAt)) {
		k.known = make(chan struct{})
		go k.renew(k.known)
	}
	return k.known
}

// verdict returns a token or why there is none, and whether waiting for the attempt under way would not change that.
func (k *Keeper) verdict() (token string, over bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.token.Value != "" && (k.token.Expiry.IsZero() || time.Now().Before(k.token.Expiry)) {
		return k.token.Value, true, nil
	}
	if k.err != nil {
		return "", true, k.err
	}
	return "", false, errPending
}

// renew asks the Source until it gives a token.
func (k *Keeper) renew(known chan struct{}) {
	tell := sync.OnceFunc(func() { close(known) })
	pauses := wait.Backoff{Duration: retryFirst, Factor: 2, Steps: math.MaxInt, Cap: retryMax}
	_ = pauses.DelayFunc().Until(k.ctx, true, true, func(context.Context) (over bool, _ error) {
		token, err := k.mint()
		failed := k.learn(token, err)
		tell()
		k.tried()
		if err == nil && failed {
			k.there()
		}
		return err == nil, nil
	})
}

// mint asks the Source once. A panic of a vendor's library is an error: it must not end the provider for all others.
func (k *Keeper) mint() (t Token, err error) {
	ctx, cancel := context.WithTimeout(k.ctx, Timeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errors.New("the library of the cloud crashes on the credentials: check that they are complete")
		}
	}()
	t, err = k.source.Token(ctx)
	if err == nil && !t.Expiry.IsZero() && !time.Now().Before(t.Expiry) {
		err = errors.New("the token that was issued has expired already: check the clock of the provider's node")
	}
	if err != nil {
		return t, err
	}
	_, err = Static(t.Value)
	return t, err
}

// learn takes in the result of an attempt, and reports whether the one before had failed.
func (k *Keeper) learn(t Token, err error) (failed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	failed, k.err = k.err != nil, nil
	if err != nil {
		k.err = failedError{errors.Wrap(err, "cannot get a token of the identity")}
		return failed
	}
	k.token, k.renewAt, k.known = t, time.Time{}, nil
	if !t.Expiry.IsZero() {
		k.renewAt = t.Expiry.Add(-min(refreshEarly, time.Until(t.Expiry)/5))
	}
	return failed
}

// A transport sends a Keeper's token with each request.
type transport struct {
	keeper *Keeper
	next   http.RoundTripper
}

// RoundTrip sends a request with the token, which replaces any other credentials in the header.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.keeper.get(req.Context(), requestPatience)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // A transport always closes it.
		}
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(req)
}

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
