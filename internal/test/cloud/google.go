package cloud

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"
	"time"
)

// googleScopes are what GKE needs.
const googleScopes = "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email"

// GoogleServiceAccount makes a service account known to Google, whose email is its ID, and returns its credentials.
// They hold the private key of all service accounts.
func (c *Clouds) GoogleServiceAccount(tb testing.TB, email string, p Principal) []byte {
	tb.Helper()
	c.Add(email, p)
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		tb.Fatal(err)
	}
	return encode(tb, map[string]string{
		"type": "service_account", "client_email": email, "private_key_id": "1",
		"token_uri":   "https://oauth2.googleapis.com/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
}

// GoogleToken returns an access token of a user, as gcloud prints them.
func (c *Clouds) GoogleToken(tb testing.TB, email string, p Principal) []byte {
	tb.Helper()
	c.Add(email, p)
	token, _, refusal := c.mint(email, "")
	if refusal != "" {
		tb.Fatal(refusal)
	}
	return []byte(token)
}

// googleToken exchanges a signed claim for a token:
// https://developers.google.com/identity/protocols/oauth2/service-account
func (c *Clouds) googleToken(w http.ResponseWriter, r *http.Request) {
	part := strings.Split(r.FormValue("assertion"), ".")
	if r.FormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(part) != 3 || !signed(part) {
		c.answer(w, "", "")
		return
	}
	var claim struct{ Iss, Aud, Scope string }
	if !decode(part[1], &claim) || claim.Aud != "https://oauth2.googleapis.com/token" || claim.Scope != googleScopes {
		c.answer(w, "", "")
		return
	}
	c.answer(w, claim.Iss, "")
}

// GoogleTrustingAccount makes a service account known to Google that a user may impersonate through delegates.
func (c *Clouds) GoogleTrustingAccount(email, user string, delegates []string, p Principal) {
	p.Secret = user + strings.Join(delegates, "")
	c.Add(email, p)
}

// googleImpersonated exchanges a token of one account for one of another:
// https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
func (c *Clouds) googleImpersonated(w http.ResponseWriter, r *http.Request) {
	email, method, _ := strings.Cut(r.PathValue("call"), ":")
	var asked struct {
		Delegates []string `json:"delegates"`
		Scope     []string `json:"scope"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil || method != "generateAccessToken" ||
		strings.Join(asked.Scope, " ") != googleScopes {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	by, _ := c.userOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	by += strings.ReplaceAll(strings.Join(asked.Delegates, ""), "projects/-/serviceAccounts/", "")
	token, life, refusal := c.mint(email, by)
	w.Header().Set("Content-Type", "application/json")
	if refusal != "" {
		w.WriteHeader(http.StatusForbidden)
		write(w, map[string]any{"error": map[string]any{"code": 403, "message": by, "status": "PERMISSION_DENIED"}})
		return
	}
	write(w, map[string]any{"accessToken": token, "expireTime": time.Now().Add(life).UTC().Format(time.RFC3339)})
}

// signed reports whether a JWT is signed by the key of all principals, in the way that Google's library signs or the
// one that Azure's does.
func signed(part []string) bool {
	signature, err := base64.RawURLEncoding.DecodeString(part[2])
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	return err == nil && (rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature) == nil ||
		rsa.VerifyPSS(&key().PublicKey, crypto.SHA256, sum[:], signature, nil) == nil)
}

func decode(part string, into any) bool {
	b, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(b, into) == nil
}
