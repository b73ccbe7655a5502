package clusters

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// withPlugin returns a connection to a server by a kubeconfig that runs a script for its credentials.
func withPlugin(t *testing.T, server, script string) commonv1.Connection {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := "{apiVersion: v1, kind: Config, current-context: a, " +
		"contexts: [{name: a, context: {cluster: a, user: a}}], " +
		"clusters: [{name: a, cluster: {insecure-skip-tls-verify: true, server: '" + server + "'}}], " +
		"users: [{name: a, user: {exec: {" +
		"apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, " + strconv.Quote(script) + "], " +
		"interactiveMode: Never, provideClusterInfo: true, env: [{name: SAID, value: hello}]}}}]}"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return commonv1.Connection{Spec: &commonv1.ProviderConfigSpec{Credentials: commonv1.ProviderCredentials{
		Source:                    xpv2.CredentialsSourceFilesystem,
		CommonCredentialSelectors: xpv2.CommonCredentialSelectors{Fs: &xpv2.FsSelector{Path: path}},
	}}}
}

// TestPluginGivesCredentials shows that a credential plugin is run once, for the cluster it is asked for, and that one
// that fails is told.
func TestPluginGivesCredentials(t *testing.T) {
	var token atomic.Value
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "" {
			token.Store(got)
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := informer.Owner{NamespacedName: types.NamespacedName{Name: "user"}}
	for name, tc := range map[string]struct{ script, token, says string }{
		"Token": {
			script: `case "$KUBERNETES_EXEC_INFO" in *'"server":"` + s.URL + `"'*) echo '{"apiVersion":` +
				`"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$SAID'"}}';; esac`,
			token: "Bearer hello",
		},
		"Fails":   {script: "exit 3", says: `cannot run credential plugin "sh": exit status 3`},
		"Garbage": {script: "echo secret", says: `credential plugin "sh" prints no ExecCredential`},
	} {
		connection := withPlugin(t, s.URL, tc.script)
		eventually(t, name, func() bool {
			c, err := r.Connect(t.Context(), o, connection)
			if err == nil {
				err = c.TryCredentials(t.Context())
			}
			got, _ := token.Load().(string)
			return tc.says == "" && err == nil && got == tc.token ||
				tc.says != "" && IsInvalidConnection(err) && strings.Contains(err.Error(), tc.says)
		})
	}
}

// TestPluginEndsWithItsConnection shows that a credential plugin that hangs, and what it has started, ends when nobody
// has its connection any more.
func TestPluginEndsWithItsConnection(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	r, err := NewRegistry(Options{Injected: &rest.Config{Host: s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pids, err := os.Create(filepath.Join(t.TempDir(), "pids"))
	if err != nil {
		t.Fatal(err)
	}
	defer pids.Close()
	o := informer.Owner{NamespacedName: types.NamespacedName{Name: "user"}}
	connection := withPlugin(t, s.URL, "sleep 1000 & echo $! $$ > "+pids.Name()+"; wait")
	var started []string
	eventually(t, "the plugin to start", func() bool {
		if _, err := r.Connect(t.Context(), o, connection); err == nil {
			t.Fatal("there are no credentials yet")
		}
		content, err := io.ReadAll(io.NewSectionReader(pids, 0, 100))
		started = strings.Fields(string(content))
		return err == nil && len(started) == 2
	})
	r.Forget(o)
	for _, pid := range started {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "process "+pid+" to end", func() bool {
			stat, _ := os.ReadFile("/proc/" + pid + "/stat") // Nobody may collect an orphan that has ended.
			return errors.Is(syscall.Kill(n, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
		})
	}
}
