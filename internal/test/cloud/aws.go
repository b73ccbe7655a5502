package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// AWSRole is the role that web identities assume, by which the principal is known.
	AWSRole     = "arn:aws:iam::1:role/robot"
	awsRegion   = "eu-west-1"
	awsWebToken = "aws-web-identity-token"
	awsKeyID    = "AKIDEXAMPLE"
	awsKey      = "aws-secret-access-key"
	awsSession  = "aws-session-token-" // The role follows.
	eksPrefix   = "k8s-aws-v1."
)

// AWSWebIdentity gives the process an AWS web identity, as EKS gives to pods, and makes it known to AWS.
func (c *Clouds) AWSWebIdentity(p Principal) {
	p.Secret = awsWebToken
	c.Add(AWSRole, p)
	setenv("AWS_REGION", awsRegion)
	setenv("AWS_ROLE_ARN", AWSRole)
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", c.file("aws-token", []byte(awsWebToken)))
}

// AWSTrustingRole makes a role known to AWS that the session of another one may assume with an external ID.
func (c *Clouds) AWSTrustingRole(role, trusts, externalID string, p Principal) {
	p.Secret = awsSession + trusts + externalID
	c.Add(role, p)
}

// awsToken exchanges a web identity, or the session of another role, for the credentials of a role.
func (c *Clouds) awsToken(w http.ResponseWriter, r *http.Request) {
	role, action, secret := r.FormValue("RoleArn"), r.FormValue("Action"), r.FormValue("WebIdentityToken")
	if action == "AssumeRole" {
		secret = r.Header.Get("X-Amz-Security-Token") + r.FormValue("ExternalId")
	}
	_, life, refusal := c.mint(role, secret)
	if refusal != "" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>"+
			"<Message>%s</Message></Error></ErrorResponse>", "bad "+awsWebToken)
		return
	}
	_, _ = fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult>
<Credentials><AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>%[3]s</SecretAccessKey>`+
		`<SessionToken>%[4]s</SessionToken><Expiration>%[5]s</Expiration></Credentials>
</%[1]sResult></%[1]sResponse>`,
		action, awsKeyID, awsKey, awsSession+role, time.Now().Add(life).UTC().Format(time.RFC3339))
}

// awsUser returns who has signed a token for a cluster: EKS sends the request on, with the name of the cluster in a
// header that is signed, and AWS checks the signature.
func (c *Clouds) awsUser(token, cluster string) (user string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, eksPrefix))
	if err != nil {
		return "", false
	}
	u, err := url.Parse(string(b))
	if err != nil || u.Host != "sts."+awsRegion+".amazonaws.com" {
		return "", false
	}
	q := u.Query()
	signature := q.Get("X-Amz-Signature")
	q.Del("X-Amz-Signature")
	role, asked := strings.CutPrefix(q.Get("X-Amz-Security-Token"), awsSession)
	asked = asked && q.Get("Action") == "GetCallerIdentity" && q.Get("X-Amz-Expires") == "900"
	if !asked || signature != awsSignature(u.Host, cluster, q) {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.principals[role]
	if p == nil {
		return "", false
	}
	return p.User, true
}

// awsSignature signs a GET request, as described at
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
func awsSignature(host, cluster string, q url.Values) string {
	empty := sha256.Sum256(nil)
	canonical := strings.Join([]string{
		"GET", "/", strings.ReplaceAll(q.Encode(), "+", "%20"), "host:" + host, "x-k8s-aws-id:" +
			cluster, "", q.Get("X-Amz-SignedHeaders"), hex.EncodeToString(empty[:]),
	}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	date := q.Get("X-Amz-Date")
	scope := strings.Join([]string{date[:min(8, len(date))], awsRegion, "sts", "aws4_request"}, "/")
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hex.EncodeToString(sum[:])}, "\n")
	k := []byte("AWS4" + awsKey)
	for _, part := range append(strings.Split(scope, "/"), toSign) {
		m := hmac.New(sha256.New, k)
		m.Write([]byte(part))
		k = m.Sum(nil)
	}
	return hex.EncodeToString(k)
}
