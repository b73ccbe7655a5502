// Package changelogs gives tests a change log service. It is for _test.go files only.
package changelogs

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	changelogs "github.com/crossplane/crossplane-runtime/v2/apis/changelogs/proto/v1alpha1"
	"google.golang.org/grpc"
)

// A Service keeps what is logged.
type Service struct {
	changelogs.UnimplementedChangeLogServiceServer

	// Socket is the path of the unix socket it listens on.
	Socket string

	mu      sync.Mutex
	entries []*changelogs.ChangeLogEntry
}

// Serve starts a service that lives as long as the test.
func Serve(tb testing.TB) *Service {
	tb.Helper()
	dir, err := os.MkdirTemp("", "log") //nolint:usetesting // A test's folder may be longer than the path of a socket.
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Service{Socket: filepath.Join(dir, "changelogs.sock")}
	listener, err := net.Listen("unix", s.Socket)
	if err != nil {
		tb.Fatal(err)
	}
	server := grpc.NewServer()
	changelogs.RegisterChangeLogServiceServer(server, s)
	go func() { _ = server.Serve(listener) }()
	tb.Cleanup(server.Stop)
	return s
}

// SendChangeLog keeps an entry.
func (s *Service) SendChangeLog(_ context.Context,
	r *changelogs.SendChangeLogRequest,
) (*changelogs.SendChangeLogResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, r.GetEntry())
	return &changelogs.SendChangeLogResponse{}, nil
}

// Of returns the entries about resources of a name, in the order in which they came.
func (s *Service) Of(name string) []*changelogs.ChangeLogEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var of []*changelogs.ChangeLogEntry
	for _, e := range s.entries {
		if e.GetName() == name {
			of = append(of, e)
		}
	}
	return of
}
