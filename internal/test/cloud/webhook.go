package cloud

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// Cluster is the name by which AWS knows the cluster that has TokenWebhook.
const Cluster = "target"

// TokenWebhook returns the URL of the webhook by which a cluster knows whose token it is shown.
func (c *Clouds) TokenWebhook() string { return c.webhook.URL }

// review says whose a token is.
func (c *Clouds) review(w http.ResponseWriter, r *http.Request) {
	review := &authenticationv1.TokenReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	user, ok := c.userOf(review.Spec.Token)
	review.Status = authenticationv1.TokenReviewStatus{
		Authenticated: ok, User: authenticationv1.UserInfo{Username: user},
	}
	w.Header().Set("Content-Type", "application/json")
	write(w, review)
}

func (c *Clouds) userOf(token string) (user string, ok bool) {
	if strings.HasPrefix(token, eksPrefix) {
		return c.awsUser(token, Cluster)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.issued[token]
	return i.user, ok && time.Now().Before(i.ends)
}
