package local

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
)

var errBoom = errors.New("boom")

// A fakeServer counts what it is told to do.
type fakeServer struct {
	startErr, stopErr error
	running           atomic.Int32
}

func (s *fakeServer) Start(context.Context) (func() error, error) {
	if s.startErr != nil {
		return nil, s.startErr
	}
	s.running.Add(1)
	return func() error {
		s.running.Add(-1)
		return s.stopErr
	}, nil
}

// waits is a Starter that ends only with its context.
func waits(ctx context.Context) (func() error, error) {
	<-ctx.Done()
	return nil, errors.Wrap(ctx.Err(), "gave up")
}

func TestStartAll(t *testing.T) {
	t.Run("StopsAll", func(t *testing.T) {
		one, two := &fakeServer{}, &fakeServer{stopErr: errBoom}
		stop, err := StartAll(t.Context(), one, two)
		if err != nil || one.running.Load() != 1 || two.running.Load() != 1 {
			t.Fatalf("StartAll: want both running, got %d, %d, %v", one.running.Load(), two.running.Load(), err)
		}
		if diff := cmp.Diff(errBoom, stop(), cmpopts.EquateErrors()); diff != "" {
			t.Errorf("stop: -want, +got:\n%s", diff)
		}
		if one.running.Load() != 0 || two.running.Load() != 0 {
			t.Errorf("stop: want none running, got %d, %d", one.running.Load(), two.running.Load())
		}
	})
	t.Run("FirstErrorEndsAll", func(t *testing.T) {
		good := &fakeServer{}
		_, err := StartAll(t.Context(), good, StartFunc(waits), &fakeServer{startErr: errBoom})
		if diff := cmp.Diff(errBoom, err, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("StartAll: -want, +got:\n%s", diff)
		}
		if good.running.Load() != 0 {
			t.Error("StartAll: a server that had started was left running")
		}
	})
	t.Run("ContextEndsAll", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := StartAll(ctx, &fakeServer{}, StartFunc(waits))
		if diff := cmp.Diff(context.Canceled, err, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("StartAll: -want, +got:\n%s", diff)
		}
	})
}

type runFunc func() int

func (f runFunc) Run() int { return f() }

func TestMainRunsBetweenStartAndStop(t *testing.T) {
	const code = 7
	for name, tc := range map[string]struct {
		server     *fakeServer
		runs, want int
	}{
		"Code":      {server: &fakeServer{}, runs: 1, want: code},
		"FailStart": {server: &fakeServer{startErr: errBoom}, want: 1},         // Without servers the tests do not run.
		"FailStop":  {server: &fakeServer{stopErr: errBoom}, runs: 1, want: 1}, // A server that stays is a failure.
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			got := Main(runFunc(func() int {
				runs += int(tc.server.running.Load())
				return code
			}), tc.server)
			if got != tc.want || runs != tc.runs || tc.server.running.Load() != 0 {
				t.Errorf("Main: want %d after %d runs, got %d after %d", tc.want, tc.runs, got, runs)
			}
		})
	}
}
