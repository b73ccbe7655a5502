package main

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
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

// newLogger returns a logger that writes to standard error, in the format of the flags whatever the level.
func newLogger(f *flags) logr.Logger {
	level, encoder := zapcore.InfoLevel, zap.JSONEncoder()
	if f.debug {
		level = zapcore.DebugLevel
	}
	if f.logFormat == logConsole {
		encoder = zap.ConsoleEncoder()
	}
	return zap.New(zap.Level(level), encoder)
}

// quietUnless lets only errors of controller-runtime through, which logs each start of a watch, unless debug is set.
func quietUnless(debug bool, l logr.Logger) logr.Logger {
	if debug {
		return l
	}
	return zap.New(zap.Level(zapcore.ErrorLevel), zap.RawZapOpts(uberzap.WrapCore(func(c zapcore.Core) zapcore.Core { return lazyCore{c} })))
}

// A lazyCore encodes the values of a logger when something is logged. controller-runtime makes a logger for each reconcile.
type lazyCore struct{ zapcore.Core }

// With returns a core with more values.
func (c lazyCore) With(values []zapcore.Field) zapcore.Core {
	return lazyCore{zapcore.NewLazyWith(c.Core, values)}
}

// reconcilerLog returns the log of reconcilers, who say all at level debug: encoding what is not printed costs as much.
func reconcilerLog(debug bool, l logging.Logger) logging.Logger {
	if debug {
		return l
	}
	return logging.NewNopLogger()
}
