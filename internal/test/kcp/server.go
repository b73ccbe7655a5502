package kcp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// root is the path of the workspace at the top.
const root = "root"

const (
	workspaceTimeout = 3 * time.Minute
	pollInterval     = 20 * time.Millisecond
)

// Run starts servers, runs the tests, stops the servers, and returns the code to exit with. It starts any mix of
// *Server and *kube.Server at the same time.
func Run(m *testing.M, servers ...local.Starter) int {
	return local.Main(m, servers...)
}

// errShared is why a test cannot stop, freeze, back up or restore kcp.
const errShared = "kcp is shared with other packages: run this test by make e2e, or its package alone"

// A Server is one kcp: that of kube.SharedServers if there is one, else of its own. Set its fields, if any, before Run;
// use it after.
type Server struct {
	// Audited logs all requests. The shared one always does.
	Audited bool

	kcp      *local.KCP
	attached bool
	back     func() error // brings it back from an outage; nil without one
}

// AuditLog returns the path of the log of all requests, for kube.AuditOf.
func (s *Server) AuditLog() string { return s.kcp.AuditLog() }

// Start is for Run.
func (s *Server) Start(ctx context.Context) (stop func() error, err error) {
	if shared := os.Getenv(kube.SharedServers); shared != "" {
		s.attached = true
		s.kcp, err = local.AttachKCP(filepath.Join(shared, "kcp"))
		return func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "kcp-")
	if err != nil {
		return nil, errors.Wrap(err, "cannot make folder of kcp")
	}
	s.kcp, err = local.StartKCP(ctx, local.KCPOptions{Dir: dir, Audit: s.Audited})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return func() error {
		if err := s.kcp.Stop(); err != nil {
			return err
		}
		return errors.Wrap(os.RemoveAll(dir), "cannot remove folder of kcp")
	}, nil
}

// Stop ends kcp: its address refuses connections until Return, or until the test ends. Its data stay. Not for tests
// that run in parallel with others.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.interrupt(tb, s.kcp.StopServer, func() error { return s.kcp.StartServer(context.WithoutCancel(tb.Context())) })
}

// own fails the test if other packages use kcp, too.
func (s *Server) own(tb testing.TB) {
	tb.Helper()
	if s.attached {
		tb.Fatal(errShared)
	}
}

func (s *Server) interrupt(tb testing.TB, begin, end func() error) {
	tb.Helper()
	s.own(tb)
	if err := begin(); err != nil {
		tb.Fatal(err)
	}
	s.back = end
	tb.Cleanup(func() { s.Return(tb) })
}

// Return brings kcp back after Stop, with the same address, data and users.
func (s *Server) Return(tb testing.TB) {
	tb.Helper()
	if s.back == nil {
		return
	}
	back := s.back
	s.back = nil
	if err := back(); err != nil {
		tb.Fatal(err)
	}
}

// Backup copies the data of kcp as they are now, for Restore.
func (s *Server) Backup(tb testing.TB) {
	tb.Helper()
	s.own(tb)
	if err := s.kcp.Backup(); err != nil {
		tb.Fatal(err)
	}
}

// Bump has Restore give kcp higher resource versions than it has given out, as etcd recommends it. See local.KCP.Bump.
func (s *Server) Bump(tb testing.TB) {
	tb.Helper()
	if err := s.kcp.Bump(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// Restore stops kcp and starts it again with the data of the last Backup. See kube.Server.Restore.
func (s *Server) Restore(tb testing.TB) {
	tb.Helper()
	if err := s.kcp.Restore(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatal(err)
	}
}

// Config returns the administrator's configuration for a workspace, by its path or the name of its logical cluster.
func (s *Server) Config(workspace string) *rest.Config {
	return s.kcp.Config(workspace)
}

// Master returns the configuration of a member of system:masters for a workspace: of what kcp itself may.
func (s *Server) Master(tb testing.TB, workspace string) *rest.Config {
	tb.Helper()
	cfg, err := s.kcp.Master(workspace)
	if err != nil {
		tb.Fatal(err)
	}
	return cfg
}

// Workspace creates a workspace for the test, waits until it is ready, and returns its path and the administrator's
// configuration for it. It stays until the server goes: to delete a workspace kcp 0.31 lists all APIs of each of its
// namespaces, again with each try, which takes more processor time than most tests.
func (s *Server) Workspace(tb testing.TB) (path string, cfg *rest.Config) {
	tb.Helper()
	c, err := client.New(s.Config(root), client.Options{})
	if err != nil {
		tb.Fatalf("cannot make client: %v", err)
	}
	ws := newWorkspace()
	if err := c.Create(tb.Context(), ws); err != nil {
		tb.Fatalf("cannot create workspace: %v", err)
	}
	awaitReady(tb, c, ws)
	path = root + ":" + ws.GetName()
	return path, s.Config(path)
}

// WorkspaceAt creates the workspace of a path below the top and those above it, unless they are there, and returns the
// administrator's configuration for it. It stays: other tests of the package may use it.
func (s *Server) WorkspaceAt(tb testing.TB, path string) *rest.Config {
	tb.Helper()
	above, name, ok := lastPart(path)
	if !ok {
		return s.Config(path)
	}
	c, ws := Client(tb, s.WorkspaceAt(tb, above)), newWorkspace()
	ws.SetGenerateName("")
	ws.SetName(name)
	if err := c.Create(tb.Context(), ws); client.IgnoreAlreadyExists(err) != nil {
		tb.Fatalf("cannot create workspace %q: %v", path, err)
	}
	awaitReady(tb, c, ws)
	return s.Config(path)
}

// lastPart cuts the last part off the path of a workspace. It reports false for the top, which has one part.
func lastPart(path string) (above, name string, ok bool) {
	i := strings.LastIndex(path, ":")
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// lookEvery is how often kcp is made to look at a workspace that is being deleted.
const lookEvery = 2 * time.Second

// DeleteWorkspace deletes the workspace of a path below the top, and returns what reports whether it is gone, and what
// kcp says of what keeps it. By itself kcp 0.31.2 looks at what is left after pauses of 5 ms to 17 minutes, each twice
// as long as the one before: its controller means 8 s, and does not find the error that says so in an aggregate. A
// change of the LogicalCluster has it look at once.
func (s *Server) DeleteWorkspace(tb testing.TB, path string) (gone func() (bool, string)) {
	tb.Helper()
	above, name, _ := lastPart(path)
	c, ws := Client(tb, s.Config(above)), newWorkspace()
	ws.SetName(name)
	if err := c.Delete(tb.Context(), ws); err != nil {
		tb.Fatalf("cannot delete workspace: %v", err)
	}
	inside, looked, state := Client(tb, s.Config(path)), time.Time{}, ""
	return func() (bool, string) {
		if err := c.Get(tb.Context(), client.ObjectKeyFromObject(ws), ws); apierrors.IsNotFound(err) {
			return true, ""
		}
		if time.Since(looked) > lookEvery {
			looked = time.Now()
			state = look(tb, inside)
		}
		return false, state
	}
}

// look has kcp look at a workspace that is being deleted, and returns what it says of it.
func look(tb testing.TB, in client.Client) string {
	tb.Helper()
	lc := &unstructured.Unstructured{}
	lc.SetAPIVersion("core.kcp.io/v1alpha1")
	lc.SetKind("LogicalCluster")
	lc.SetName("cluster")
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.org/looked":%q}}}`, time.Now())
	err := in.Patch(tb.Context(), lc, client.RawPatch(types.MergePatchType, change))
	conditions, _, _ := unstructured.NestedSlice(lc.Object, "status", "conditions")
	return fmt.Sprint(conditions, err)
}

// newWorkspace is not of the SDK's type: that would be all this package needs of it.
func newWorkspace() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tenancy.kcp.io/v1alpha1",
		"kind":       "Workspace",
		"metadata":   map[string]any{"generateName": "test-"},
		"spec":       map[string]any{"type": map[string]any{"name": "universal", "path": root}},
	}}
}

func awaitReady(tb testing.TB, c client.Client, ws *unstructured.Unstructured) {
	tb.Helper()
	end := time.Now().Add(workspaceTimeout)
	for {
		phase, _, _ := unstructured.NestedString(ws.Object, "status", "phase")
		if phase == "Ready" {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("workspace %q is not ready after %s: %v", ws.GetName(), workspaceTimeout, ws.Object["status"])
		}
		time.Sleep(pollInterval)
		if err := c.Get(tb.Context(), client.ObjectKeyFromObject(ws), ws); err != nil {
			tb.Fatalf("cannot get workspace: %v", err)
		}
	}
}
