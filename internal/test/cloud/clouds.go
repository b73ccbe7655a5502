package cloud

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Clouds are the token endpoints of all clouds. Start them before any request of the process; they end with it.
type Clouds struct {
	dir     string
	web     *httptest.Server // by the names of the real endpoints
	proxy   *httptest.Server // the way to it
	webhook *httptest.Server

	mu         sync.Mutex
	principals map[string]*Principal // by what its cloud knows it by
	issued     map[string]issue      // by token
}

// A Principal is who authenticates to a cloud.
type Principal struct {
	// User is who the principal is on clusters.
	User string
	// Secret is what the principal shows, if it is that simple.
	Secret string
	// Life is how long a token lasts; an hour if zero.
	Life time.Duration
	// Refused says that the cloud refuses the principal.
	Refused bool

	minted int
}

// An issue is a token that has been given out.
type issue struct {
	user string
	ends time.Time
}

// Start starts the endpoints, and makes the process reach and trust them.
func (c *Clouds) Start() {
	dir, err := os.MkdirTemp("", "clouds-")
	if err != nil {
		panic(err) // There is no test yet that could fail.
	}
	c.dir, c.principals, c.issued = dir, map[string]*Principal{}, map[string]issue{}
	mux := http.NewServeMux()
	mux.HandleFunc("oauth2.googleapis.com/token", c.googleToken)
	mux.HandleFunc("POST iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{call}", c.googleImpersonated)
	mux.HandleFunc("login.microsoftonline.com/", c.azureAuthority)
	mux.HandleFunc("login.microsoft.com/", c.azureAuthority)
	mux.HandleFunc("auth.upbound.io/apis/tokenexchange.upbound.io/v1alpha1/orgscopedtokens", c.upboundToken)
	mux.HandleFunc("sts.eu-west-1.amazonaws.com/", c.awsToken)
	hosts := []string{
		"oauth2.googleapis.com", "login.microsoftonline.com", "login.microsoft.com", "auth.upbound.io",
		"sts.eu-west-1.amazonaws.com", "iamcredentials.googleapis.com",
	}
	cert, pem := certificate(hosts...)
	c.web = httptest.NewUnstartedServer(mux)
	c.web.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	c.web.StartTLS()
	c.proxy = httptest.NewServer(http.HandlerFunc(c.connect))
	c.webhook = httptest.NewServer(http.HandlerFunc(c.review))
	roots := c.file("clouds.crt", pem)
	setenv("SSL_CERT_FILE", roots)
	setenv("AWS_CA_BUNDLE", roots)
	setenv("HTTPS_PROXY", c.proxy.URL)
	c.listen(hosts)
}

// Add makes a principal known to its cloud, and returns a way to change it.
func (c *Clouds) Add(id string, p Principal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.principals[id]; known != nil {
		p.minted = known.minted
	}
	c.principals[id] = &p
}

// Minted returns how many tokens a principal has been given.
func (c *Clouds) Minted(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.principals[id].minted
}

// mint returns a new token for a principal that has shown a secret, or why there is none.
func (c *Clouds) mint(id, secret string) (token string, life time.Duration, refusal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.principals[id]
	if p == nil || p.Refused || p.Secret != secret {
		return "", 0, "invalid_client"
	}
	life = p.Life
	if life == 0 {
		life = time.Hour
	}
	p.minted++
	b := make([]byte, 16)
	_, _ = rand.Read(b) // It never fails.
	token = "token-" + hex.EncodeToString(b)
	c.issued[token] = issue{user: p.User, ends: time.Now().Add(life)}
	return token, life, ""
}

// connect passes a connection on to the endpoints, whatever name it asks for.
func (c *Clouds) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "not connected", http.StatusBadGateway)
		return
	}
	server, err := net.Dial("tcp", c.web.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	go func() { _, _ = io.Copy(server, rest); _ = server.Close() }()
	go func() { _, _ = io.Copy(client, server); _ = client.Close() }()
}

// file writes a file that lives as long as the process, and returns its path.
func (c *Clouds) file(name string, content []byte) string {
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		panic(err) // There is no test yet that could fail.
	}
	return path
}

// Close removes what the endpoints have left on the disk.
func (c *Clouds) Close() { _ = os.RemoveAll(c.dir) }

func setenv(name, value string) {
	if err := os.Setenv(name, value); err != nil {
		panic(err)
	}
}

// answer answers a request for a token, the way OAuth does. A refusal repeats what was sent: the worst an endpoint may
// do.
func (c *Clouds) answer(w http.ResponseWriter, id, secret string) {
	token, life, refusal := c.mint(id, secret)
	w.Header().Set("Content-Type", "application/json")
	if refusal != "" {
		w.WriteHeader(http.StatusUnauthorized)
		write(w, map[string]string{
			"error": refusal, "error_description": "bad secret " + secret + " at " + time.Now().String(),
		})
		return
	}
	write(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(life.Seconds())})
}

// write answers with JSON.
func write(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // The server of the test says so.
	}
	_, _ = w.Write(b) // Who has gone does not want it.
}
