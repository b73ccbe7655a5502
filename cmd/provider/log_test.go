package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		t.Errorf("what is not logged: want no value encoded and nothing printed, got %d encoded and %q", encoded, out.String())
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
