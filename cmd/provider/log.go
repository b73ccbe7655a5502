package main

import (
	"context"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/go-logr/logr"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Formats of the log.
const (
	logJSON    = "json"
	logConsole = "console"
)

// newLogger returns a logger that writes to standard error, in the format of the flags whatever the level.
func newLogger(f *flags) logr.Logger {
	level := zapcore.InfoLevel
	if f.debug {
		level = zapcore.DebugLevel
	}
	return zap.New(zap.Level(level), f.encoder())
}

// encoder returns the encoder of the format.
func (f *flags) encoder() zap.Opts {
	if strings.EqualFold(f.logFormat, logConsole) {
		return zap.ConsoleEncoder()
	}
	return zap.JSONEncoder()
}

// quietUnless lets only errors of controller-runtime through, which logs each start of a watch, unless debug is set.
func (f *flags) quietUnless(l logr.Logger, o ...zap.Opts) logr.Logger {
	if f.debug {
		return l
	}
	lazy := zap.RawZapOpts(uberzap.WrapCore(func(c zapcore.Core) zapcore.Core { return lazyCore{c} }))
	return zap.New(append(o, zap.Level(zapcore.ErrorLevel), f.encoder(), lazy)...)
}

// A lazyCore encodes the values of a logger when something is logged. controller-runtime makes a logger for each
// reconcile.
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

// finalizerWarnings hands on what the API server warns of, but for the names of finalizers: Crossplane has given them.
type finalizerWarnings struct{ rest.WarningHandlerWithContext }

// HandleWarningHeaderWithContext handles a warning.
func (w finalizerWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if strings.HasPrefix(text, "metadata.finalizers: ") &&
		strings.Contains(text, "prefer a domain-qualified finalizer name") {
		return
	}
	w.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, code, agent, text)
}

// reconcilerLog returns the log of reconcilers, who say all at level debug: encoding what is not printed costs as much.
func reconcilerLog(debug bool, l logging.Logger) logging.Logger {
	if debug {
		return l
	}
	return logging.NewNopLogger()
}
