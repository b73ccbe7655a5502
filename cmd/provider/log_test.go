package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// A counted value counts how often it is encoded.
type counted struct{ times *int }

func (c counted) MarshalLogObject(e zapcore.ObjectEncoder) error {
	*c.times++
	e.AddString("name", "web")
	return nil
}

// TestLazyCore shows that a logger prints all the values it was given, and encodes them only for what it prints.
func TestLazyCore(t *testing.T) {
	var out bytes.Buffer
	encoded := 0
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"})
	l := uberzap.New(lazyCore{zapcore.NewCore(encoder, zapcore.AddSync(&out), zapcore.ErrorLevel)}).
		With(uberzap.String("controller", "object")).With(uberzap.Object("request", counted{&encoded}))
	l.Info("nothing of note")
	if encoded != 0 || out.Len() > 0 {
		t.Errorf("what is not logged: want no value encoded and nothing printed, got %d encoded and %q", encoded,
			out.String())
	}
	l.Error("broken", uberzap.String("cause", "disk"))
	l.Error("broken again")
	want := `{"msg":"broken","controller":"object","request":{"name":"web"},"cause":"disk"}
{"msg":"broken again","controller":"object","request":{"name":"web"}}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("what is logged: -want, +got:\n%s", diff)
	}
	if encoded != 1 {
		t.Errorf("want each value encoded once, got %d times", encoded)
	}
}

// TestWithoutCanceled shows that a request which the provider has ended is no error in the log, also in that of a part,
// and all others are.
func TestWithoutCanceled(t *testing.T) {
	canceled := errors.Wrap(context.Canceled, "cannot list hats")
	for name, tc := range map[string]struct {
		reason  string
		debug   bool
		err     error
		message string
		want    int
	}{
		"Canceled": {
			reason:  "What was canceled is no fault.",
			debug:   false,
			err:     canceled,
			message: "Failed to watch",
			want:    0,
		},
		"Told": {
			reason:  "Nor is it where the text says so.",
			debug:   false,
			err:     nil,
			message: "Failed to watch: Get hats: context canceled",
			want:    0,
		},
		"Refused": {
			reason:  "What is refused is.",
			debug:   false,
			err:     errors.New("forbidden"),
			message: "Failed to watch",
			want:    2,
		},
		"Deadline": {
			reason:  "What takes too long is.",
			debug:   false,
			err:     context.DeadlineExceeded,
			message: "Failed to watch",
			want:    2,
		},
		"Debug": {
			reason:  "With debug all is logged.",
			debug:   true,
			err:     canceled,
			message: "Failed to watch",
			want:    2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := 0
			l := withoutCanceled(tc.debug, funcr.New(func(string, string) { got++ }, funcr.Options{}))
			l.Error(tc.err, tc.message)
			l.WithName("reflector").WithValues("kind", "Hat").Error(tc.err, tc.message)
			if got != tc.want {
				t.Errorf("%s: want %d lines, got %d", tc.reason, tc.want, got)
			}
		})
	}
}
