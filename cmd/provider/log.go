package main

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Formats of the log.
const (
	logJSON    = "json"
	logConsole = "console"
)

// newLogger returns a logger of a level, and of level debug with that flag. It writes to standard error in the format
// of the flags whatever the level.
func newLogger(f *flags, level zapcore.Level) logr.Logger {
	encoder := zap.JSONEncoder()
	if strings.EqualFold(f.logFormat, logConsole) {
		encoder = zap.ConsoleEncoder()
	}
	if f.debug {
		level = zapcore.DebugLevel
	}
	lazy := zap.RawZapOpts(uberzap.WrapCore(func(c zapcore.Core) zapcore.Core { return lazyCore{c} }))
	return zap.New(zap.Level(level), encoder, lazy)
}

// A lazyCore encodes the values of a logger when something is logged. Reconcilers make a logger for each reconcile, and
// say most at level debug.
type lazyCore struct{ zapcore.Core }

// With returns a core with more values.
func (c lazyCore) With(values []zapcore.Field) zapcore.Core {
	return lazyCore{zapcore.NewLazyWith(c.Core, values)}
}

// withoutCanceled drops the errors of client-go about requests that the provider itself has ended, unless debug is set:
// they are no faults, and come with a stack each.
func withoutCanceled(debug bool, l logr.Logger) logr.Logger {
	if debug {
		return l
	}
	return logr.New(faultSink{l.GetSink()})
}

// A faultSink logs no errors about requests that were canceled.
type faultSink struct{ logr.LogSink }

// Error logs an error that is a fault.
func (s faultSink) Error(err error, message string, keysAndValues ...any) {
	canceled := context.Canceled.Error()
	if strings.Contains(message, canceled) || err != nil && strings.Contains(err.Error(), canceled) {
		return
	}
	s.LogSink.Error(err, message, keysAndValues...)
}

// WithValues returns a faultSink with more values.
func (s faultSink) WithValues(keysAndValues ...any) logr.LogSink {
	return faultSink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName returns a faultSink with another name.
func (s faultSink) WithName(name string) logr.LogSink { return faultSink{s.LogSink.WithName(name)} }
