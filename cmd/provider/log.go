package main

import (
	"strings"

	"github.com/go-logr/logr"
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
	return zap.New(zap.Level(level), encoder)
}
