package managedadapter

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpevent "github.com/crossplane/crossplane-runtime/v2/pkg/event"
)

// expired returns what a client says at a time of a server whose certificate has expired.
func expired(t *testing.T, at time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Unix(1_700_000_000, 0), DNSNames: []string{"x"}, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	roots.AddCert(cert)
	client, server := net.Pipe()
	serving := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{der}, PrivateKey: key,
	}}, MinVersion: tls.VersionTLS12})
	go func() { _ = serving.Handshake(); _ = serving.Close() }()
	err = tls.Client(client, &tls.Config{
		ServerName: "x", RootCAs: roots, Time: func() time.Time { return at }, MinVersion: tls.VersionTLS12,
	}).HandshakeContext(t.Context())
	if err == nil {
		t.Fatal("want the certificate refused")
	}
	return err.Error()
}

// cut returns what a client says whose connection a server resets.
func cut(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = s.(*net.TCPConn).SetLinger(0)
	_ = s.Close()
	if _, err = c.Read(make([]byte, 1)); err == nil {
		t.Fatal("want the connection reset")
	}
	return strings.ReplaceAll(err.Error(), l.Addr().String(), "server")
}

// TestSameText shows that texts of one meaning are the same whatever is new in each attempt, and that others are not.
func TestSameText(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		a, b   string
		want   bool
	}{
		"Equal": {reason: "Equal texts are the same.", a: "x", b: "x", want: true},
		"Certificate": {
			reason: "The current time is new.",
			a:      expired(t, time.Unix(1_800_000_000, 0)),
			b:      expired(t, time.Unix(1_800_000_031, 0)),
			want:   true,
		},
		"Reset": {reason: "Our own port is.", a: cut(t), b: cut(t), want: true},
		"Lookup": {
			reason: "Also that to a resolver.",
			a:      "lookup x on 10.0.0.10:53: read udp 10.1.2.3:41022->10.0.0.10:53: i/o timeout",
			b:      "lookup x on 10.0.0.10:53: read udp 10.1.2.3:59010->10.0.0.10:53: i/o timeout", want: true,
		},
		"AWS": {
			reason: "Request ids and times of clouds are.",
			a:      "StatusCode: 403, RequestID: 8d2c1f0e-1, Signature expired: 20260102T030405Z is now earlier",
			b:      "StatusCode: 403, RequestID: 77aa0b11-9, Signature expired: 20260102T030406Z is now earlier",
			want:   true,
		},
		"Azure": {
			reason: "In all their forms.",
			a:      "AADSTS700016 Trace ID: 11-aa Correlation ID: 22-bb Timestamp: 2026-01-02 03:04:05Z",
			b:      "AADSTS700016 Trace ID: 33-cc Correlation ID: 44-dd Timestamp: 2026-01-02 03:04:35Z", want: true,
		},
		"Stream": {
			reason: "Streams are.",
			a:      "stream error: stream ID 7; INTERNAL_ERROR",
			b:      "stream error: stream ID 1999; INTERNAL_ERROR",
			want:   true,
		},
		"GoAway": {
			reason: "Also by their end.",
			a:      "GOAWAY; LastStreamID=7, ErrCode=NO_ERROR",
			b:      "GOAWAY; LastStreamID=1999, ErrCode=NO_ERROR",
			want:   true,
		},
		"Retry": {
			reason: "The time that is left is.",
			a:      "too many requests, retry after 17s",
			b:      "too many requests, retry after 5s",
			want:   true,
		},
		"Took": {
			reason: "The time that was taken is.",
			a:      "webhook failed in 1.234s",
			b:      "webhook failed in 1.2s",
			want:   true,
		},
		"Version": {
			reason: "Versions are.", a: "too old resource version: 123 (456)",
			b: "too old resource version: 789 (1011)", want: true,
		},
		"Pointer": {
			reason: "Pointers are.",
			a:      "got (*string)(0xc000123456)",
			b:      "got (*string)(0xc000654321)",
			want:   true,
		},
		"Clock": {
			reason: "Times of Go are.",
			a:      "at 2026-01-02 03:04:05.678 +0000 UTC m=+0.5",
			b:      "at 2026-01-02 03:04:06.1 +0000 UTC m=+1.0",
			want:   true,
		},
		"Date": {
			reason: "Dates of HTTP are.",
			a:      "Date: Fri, 02 Jan 2026 03:04:05 GMT",
			b:      "Date: Fri, 02 Jan 2026 03:04:35 GMT",
			want:   true,
		},
		"Server": {
			reason: "Another server is another meaning.",
			a:      "dial tcp 10.0.0.1:443: refused",
			b:      "dial tcp 10.0.0.2:443: refused",
		},
		"Count": {reason: "Another count is.", a: "waiting for 2 of 3", b: "waiting for 1 of 3", want: false},
		"Quantity": {
			reason: "Another quantity is.",
			a:      "exceeded quota: used cpu=100m",
			b:      "exceeded quota: used cpu=200m",
		},
		"Digest": {
			reason: "Another image is.",
			a:      "image sha256:0a1b2c3d4e5f",
			b:      "image sha256:1a1b2c3d4e5f",
		},
		"Name": {
			reason: "Another Pod is.",
			a:      "pod web-7d4b9c6f5 is not ready",
			b:      "pod web-7d4b9c6f6 is not ready",
		},
		"UID": {
			reason: "Another resource is.",
			a:      "uid 8d2c1f0e-1111 in precondition",
			b:      "uid 8d2c1f0e-2222 in precondition",
		},
		"StatusCode": {
			reason: "Another status is.",
			a:      "the server answers 502",
			b:      "the server answers 503",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameText(tc.a, tc.b); got != tc.want {
				t.Errorf("%s\nwant %t, got %t:\n%s\n%s", tc.reason, tc.want, got, tc.a, tc.b)
			}
			if tc.want && name != "Equal" && tc.a == tc.b {
				t.Errorf("want two texts, got %q", tc.a)
			}
		})
	}
}

// A kind has a status with conditions.
type kind struct {
	corev1.ConfigMap

	Status xpv2.ConditionedStatus
}

func withStatus(c xpv2.Condition) *kind {
	return &kind{Status: xpv2.ConditionedStatus{Conditions: []xpv2.Condition{c}}}
}

// TestKeepSame shows that a condition which says the same in other words keeps its words and its time, and that others
// do not.
func TestKeepSame(t *testing.T) {
	then, now := metav1.Unix(1, 0), metav1.Unix(2, 0)
	failed := func(text string, at metav1.Time) xpv2.Condition {
		c := xpv2.ReconcileError(errors.New(text))
		c.LastTransitionTime = at
		return c
	}
	const at, later = "cut 127.0.0.1:1000->127.0.0.1:443", "cut 127.0.0.1:2000->127.0.0.1:443"
	for name, tc := range map[string]struct {
		reason    string
		was, is   xpv2.Condition
		unchanged bool
	}{
		"Same": {
			reason:    "What differs in each attempt is no change.",
			was:       failed(at, then),
			is:        failed(later, now).WithObservedGeneration(2),
			unchanged: true,
		},
		"Other":   {reason: "Another failure is.", was: failed(at, then), is: failed("refused", now), unchanged: false},
		"Success": {reason: "So is success.", was: failed(at, then), is: xpv2.ReconcileSuccess(), unchanged: false},
	} {
		t.Run(name, func(t *testing.T) {
			before, obj := withStatus(tc.was), withStatus(tc.is)
			keepSame(before, obj)
			got := obj.Status.Conditions[0]
			if got.ObservedGeneration != tc.is.ObservedGeneration {
				t.Errorf("want the generation that was seen, %d, got %d", tc.is.ObservedGeneration,
					got.ObservedGeneration)
			}
			got.ObservedGeneration = 0
			if diff := cmp.Diff(tc.was, got); (diff == "") != tc.unchanged {
				t.Errorf("%s\nwant unchanged %t: -was, +is:\n%s", tc.reason, tc.unchanged, diff)
			}
		})
	}
}

// TestClip shows that a text of a target is shown up to a length, and that its event is still known by the condition.
func TestClip(t *testing.T) {
	long := strings.Repeat("é", textMost)
	obj := withStatus(xpv2.ReconcileError(errors.Wrap(errors.New(long), "create failed")))
	keepSame(nil, obj)
	got := obj.Status.Conditions[0].Message
	if len(got) > textMost+len("…") || !strings.HasSuffix(got, "é…") {
		t.Errorf("want about %d bytes of whole characters, got %d: %s", textMost, len(got), got[len(got)-10:])
	}
	var reasons []xpevent.Reason
	NewRecorder(heard{reasons: &reasons}).Event(withConditions(obj.Status.Conditions...),
		xpevent.Warning("X", errors.New(long)))
	if len(reasons) > 0 {
		t.Error("want no event of what the condition says")
	}
}

func TestSome(t *testing.T) {
	all := []string{"a", "b", "c"}
	if few, whole := Some(all, 2, "; "), Some(all, 3, ", "); few != "a; b and 1 more" || whole != "a, b, c" {
		t.Errorf("got %q and %q", few, whole)
	}
}

// FuzzSameText shows that no text of a target makes a comparison panic, and that each text is the same as itself, also
// when it was clipped.
func FuzzSameText(f *testing.F) {
	f.Add("current time 2026-01-02T03:04:05Z is after", "x")
	f.Add("127.0.0.1:1->", "[::1]:2->")
	f.Add("\xff\xfe", "trace id: ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !SameText(a, a) || SameText(a, b) != SameText(b, a) {
			t.Errorf("want a comparison that does not depend on the order: %q, %q", a, b)
		}
		if !says(a+b, b) && len(b) <= knownFrom && strings.HasSuffix(stable(a+b), stable(b)) {
			t.Errorf("want a text known by its end: %q, %q", a, b)
		}
		_ = Clip(a, textMost)
	})
}
