package quiet

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
		SerialNumber: big.NewInt(1), NotAfter: time.Unix(1_700_000_000, 0), DNSNames: []string{"x"}, IsCA: true, BasicConstraintsValid: true,
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
	serving := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12})
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
		"Equal":       {"Equal texts are the same.", "x", "x", true},
		"Certificate": {"The current time is new.", expired(t, time.Unix(1_800_000_000, 0)), expired(t, time.Unix(1_800_000_031, 0)), true},
		"Reset":       {"Our own port is.", cut(t), cut(t), true},
		"Lookup": {
			"Also that to a resolver.", "lookup x on 10.0.0.10:53: read udp 10.1.2.3:41022->10.0.0.10:53: i/o timeout",
			"lookup x on 10.0.0.10:53: read udp 10.1.2.3:59010->10.0.0.10:53: i/o timeout", true,
		},
		"AWS": {
			"Request ids and times of clouds are.", "StatusCode: 403, RequestID: 8d2c1f0e-1, Signature expired: 20260102T030405Z is now earlier",
			"StatusCode: 403, RequestID: 77aa0b11-9, Signature expired: 20260102T030406Z is now earlier", true,
		},
		"Azure": {
			"In all their forms.", "AADSTS700016 Trace ID: 11-aa Correlation ID: 22-bb Timestamp: 2026-01-02 03:04:05Z",
			"AADSTS700016 Trace ID: 33-cc Correlation ID: 44-dd Timestamp: 2026-01-02 03:04:35Z", true,
		},
		"Stream": {"Streams are.", "stream error: stream ID 7; INTERNAL_ERROR", "stream error: stream ID 1999; INTERNAL_ERROR", true},
		"GoAway": {"Also by their end.", "GOAWAY; LastStreamID=7, ErrCode=NO_ERROR", "GOAWAY; LastStreamID=1999, ErrCode=NO_ERROR", true},
		"Retry":  {"The time that is left is.", "too many requests, retry after 17s", "too many requests, retry after 5s", true},
		"Took":   {"The time that was taken is.", "webhook failed in 1.234s", "webhook failed in 1.2s", true},
		"Version": {
			"Versions are.", "too old resource version: 123 (456)", "too old resource version: 789 (1011)", true,
		},
		"Pointer":    {"Pointers are.", "got (*string)(0xc000123456)", "got (*string)(0xc000654321)", true},
		"Clock":      {"Times of Go are.", "at 2026-01-02 03:04:05.678 +0000 UTC m=+0.5", "at 2026-01-02 03:04:06.1 +0000 UTC m=+1.0", true},
		"Date":       {"Dates of HTTP are.", "Date: Fri, 02 Jan 2026 03:04:05 GMT", "Date: Fri, 02 Jan 2026 03:04:35 GMT", true},
		"Server":     {"Another server is another meaning.", "dial tcp 10.0.0.1:443: refused", "dial tcp 10.0.0.2:443: refused", false},
		"Count":      {"Another count is.", "waiting for 2 of 3", "waiting for 1 of 3", false},
		"Quantity":   {"Another quantity is.", "exceeded quota: used cpu=100m", "exceeded quota: used cpu=200m", false},
		"Digest":     {"Another image is.", "image sha256:0a1b2c3d4e5f", "image sha256:1a1b2c3d4e5f", false},
		"Name":       {"Another Pod is.", "pod web-7d4b9c6f5 is not ready", "pod web-7d4b9c6f6 is not ready", false},
		"UID":        {"Another resource is.", "uid 8d2c1f0e-1111 in precondition", "uid 8d2c1f0e-2222 in precondition", false},
		"StatusCode": {"Another status is.", "the server answers 502", "the server answers 503", false},
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

// TestKeepSame shows that a condition which says the same in other words keeps its words and its time, and that others do not.
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
		"Same":    {"What differs in each attempt is no change.", failed(at, then), failed(later, now).WithObservedGeneration(2), true},
		"Other":   {"Another failure is.", failed(at, then), failed("refused", now), false},
		"Success": {"So is success.", failed(at, then), xpv2.ReconcileSuccess(), false},
	} {
		t.Run(name, func(t *testing.T) {
			before, obj := withStatus(tc.was), withStatus(tc.is)
			keepSame(before, obj)
			got := obj.Status.Conditions[0]
			if got.ObservedGeneration != tc.is.ObservedGeneration {
				t.Errorf("want the generation that was seen, %d, got %d", tc.is.ObservedGeneration, got.ObservedGeneration)
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
	NewRecorder(heard{reasons: &reasons}).Event(withConditions(obj.Status.Conditions...), xpevent.Warning("X", errors.New(long)))
	if len(reasons) > 0 {
		t.Error("want no event of what the condition says")
	}
}

// FuzzSameText shows that no text of a target makes a comparison panic, and that each text is the same as itself, also when it was clipped.
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
		_ = clip(a)
	})
}
