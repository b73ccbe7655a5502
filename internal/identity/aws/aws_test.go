package aws

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A fakeSTS is AWS, as far as roles are assumed there. The access key of a session is the name of its role.
type fakeSTS struct {
	refuses string        // the name of a role
	life    time.Duration // of sessions

	mu    sync.Mutex
	asked []url.Values // without what is always the same
}

// ServeHTTP assumes a role.
func (s *fakeSTS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, by, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	by, _, _ = strings.Cut(by, "/")
	role := r.PostForm.Get("RoleArn")
	role = role[strings.LastIndex(role, "/")+1:]
	r.PostForm.Set("by", by)
	for _, same := range []string{"Action", "Version", "DurationSeconds", "RoleArn"} {
		r.PostForm.Del(same)
	}
	s.asked = append(s.asked, r.PostForm)
	if role == s.refuses {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>%s</Message>"+
			"</Error></ErrorResponse>", r.PostForm.Get("ExternalId"))
		return
	}
	_, _ = fmt.Fprintf(w, "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>%s</AccessKeyId>"+
		"<SecretAccessKey>k</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>"+
		"</AssumeRoleResult></AssumeRoleResponse>", role, time.Now().Add(s.life).UTC().Format(time.RFC3339))
}

// TestRoles shows that roles are assumed in order, each by the one before, that the token ends with the last session,
// and what is told of a refusal: the role, and nothing of what was sent.
func TestRoles(t *testing.T) {
	const arn, session = "arn:aws:iam::123456789012:role/", sessionName
	roles := []Role{
		{ARN: arn + "a", ExternalID: "hunter2", Tags: map[string]string{"k": "v"}, TransitiveTagKeys: []string{"k"}},
		{ARN: arn + "b"},
	}
	first := url.Values{
		"by": {"provider"}, "RoleSessionName": {session}, "ExternalId": {"hunter2"},
		"Tags.member.1.Key": {"k"}, "Tags.member.1.Value": {"v"}, "TransitiveTagKeys.member.1": {"k"},
	}
	for name, tc := range map[string]struct {
		reason string
		sts    *fakeSTS
		asked  []url.Values
		ends   time.Duration // at the latest
		want   string        // the error
	}{
		"Both": {
			reason: "The second is assumed with the credentials of the first.", sts: &fakeSTS{life: time.Hour},
			asked: []url.Values{first, {"by": {"a"}, "RoleSessionName": {session}}}, ends: tokenLife,
		},
		"ShortSession": {
			reason: "A signature ends with its session.", sts: &fakeSTS{life: time.Minute},
			asked: []url.Values{first, {"by": {"a"}, "RoleSessionName": {session}}}, ends: time.Minute,
		},
		"FirstRefused": {
			reason: "Without the first one nobody asks for the second.", sts: &fakeSTS{life: time.Hour, refuses: "a"},
			asked: []url.Values{first}, want: "cannot assume role 1 of 2, " + arn + `a: AWS answers "AccessDenied"`,
		},
		"SecondRefused": {
			reason: "The role is named.", sts: &fakeSTS{life: time.Hour, refuses: "b"},
			asked: []url.Values{first, {"by": {"a"}, "RoleSessionName": {session}}},
			want:  "cannot assume role 2 of 2, " + arn + `b: AWS answers "AccessDenied"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.sts)
			defer server.Close()
			for k, v := range map[string]string{
				"AWS_ENDPOINT_URL_STS": server.URL, "AWS_ACCESS_KEY_ID": "provider", "AWS_SECRET_ACCESS_KEY": "k",
				"AWS_REGION": "", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
			} {
				t.Setenv(k, v)
			}
			s, err := New("arn:aws:eks:eu-west-1:123456789012:cluster/prod", roles...) // It has the region.
			if err != nil {
				t.Fatal(err)
			}
			token, err := s(t.Context())
			if diff := cmp.Diff(tc.asked, tc.sts.asked); diff != "" {
				t.Errorf("%s asked: -want, +got:\n%s", tc.reason, diff)
			}
			switch {
			case tc.want != "":
				if err == nil || err.Error() != tc.want {
					t.Errorf("%s\nwant error %q, got %v", tc.reason, tc.want, err)
				}
			case err != nil:
				t.Errorf("%s\ngot %v", tc.reason, err)
			case time.Until(token.Expiry) > tc.ends:
				t.Errorf("%s\nthe token ends after %s", tc.reason, time.Until(token.Expiry))
			}
		})
	}
}

func TestCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		cluster string
		want    string // empty for an error
	}{
		"Name": {reason: "A cluster has a name.", cluster: "prod", want: "prod"},
		"ARN": {
			reason:  "Or an ARN that ends in it.",
			cluster: "arn:aws:eks:eu-west-1:1:cluster/prod",
			want:    "prod",
		},
		"OtherARN": {reason: "Of a cluster.", cluster: "arn:aws:s3:::prod"},
		"Empty":    {reason: "It must be known.", cluster: ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := clusterOf(tc.cluster)
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%s\nwant %q, got %q and %v", tc.reason, tc.want, got, err)
			}
		})
	}
}
