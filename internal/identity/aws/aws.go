// Package aws mints tokens for EKS from the AWS credentials of the provider.
//
// A token is a signed request for the identity of its signer, which EKS sends on:
// https://github.com/kubernetes-sigs/aws-iam-authenticator. Signing needs no request. The credentials come from the
// default chain of AWS's library, as a rule from a web identity, which is a file and a role that the environment names.
// The chain is asked for each token, as credentials are shorter-lived than connections. So are roles assumed: their
// sessions last as long as a token.
package aws

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/pkg/errors"
	"golang.org/x/oauth2"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

const (
	// validSeconds is for how long the request is signed, and tokenLife how long EKS takes it for a token, with a
	// minute to spare.
	validSeconds = "900"
	tokenLife    = 14 * time.Minute
	prefix       = "k8s-aws-v1."
	// sessionName is that of all sessions. EKS makes it part of the user's name, which so stays the same.
	sessionName = "provider-kcp"
)

// A Role is one that is assumed. Its external ID may be empty.
type Role struct {
	ARN, ExternalID   string
	Tags              map[string]string
	TransitiveTagKeys []string
}

// New returns a Source of tokens for an EKS cluster, which the current context of its kubeconfig names by its name or
// its ARN. The roles are assumed one after the other, and the last one signs.
func New(cluster string, roles ...Role) (identity.Source, error) {
	name, region, err := clusterOf(cluster)
	return source{cluster: name, region: region, roles: roles}.token, err
}

// clusterOf returns the name of a cluster, and the region if it is known.
func clusterOf(cluster string) (name, region string, err error) {
	if arn.IsARN(cluster) {
		a, err := arn.Parse(cluster)
		name, ok := strings.CutPrefix(a.Resource, "cluster/")
		if err != nil || !ok || name == "" {
			return "", "", errors.Errorf("the current context of the kubeconfig names cluster %q, "+
				"which is not the ARN of an EKS cluster", cluster)
		}
		cluster, region = name, a.Region
	}
	if cluster == "" {
		return "", "", errors.New("AWS web identities need a kubeconfig whose current context names the EKS cluster")
	}
	return cluster, region, nil
}

// A source mints tokens by AWS's library.
type source struct {
	cluster string
	region  string // of the cluster, empty if that is not known
	roles   []Role
}

func (s source) token(ctx context.Context) (*oauth2.Token, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(1), config.WithDefaultRegion(s.region))
	if err != nil {
		return nil, errors.New("cannot use AWS configuration of the provider: " +
			"check the variables AWS_* and the AWS files of its pod")
	}
	if cfg.Region == "" {
		return nil, errors.New("cannot use AWS credentials of the provider: AWS_REGION is not set, " +
			"and the current context of the kubeconfig is not an ARN: set the variable, or correct the kubeconfig")
	}
	creds, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, errors.New("cannot use AWS credentials of the provider: " +
			reason(err, "its pod has no credentials in environment variables, and no web identity"))
	}
	for n, r := range s.roles {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), r.ARN, r.options))
		if creds, err = cfg.Credentials.Retrieve(ctx); err != nil {
			return nil, errors.Errorf("cannot assume role %d of %d, %s: %s", n+1, len(s.roles), r.ARN,
				reason(err, "AWS returns no credentials"))
		}
	}
	url, err := s.sign(ctx, cfg)
	if err != nil {
		return nil, errors.New("cannot sign with the AWS credentials of the provider")
	}
	t := &oauth2.Token{
		AccessToken: prefix + base64.RawURLEncoding.EncodeToString([]byte(url)), Expiry: time.Now().Add(tokenLife),
	}
	if creds.CanExpire && creds.Expires.Before(t.Expiry) {
		t.Expiry = creds.Expires // The signature ends with them.
	}
	return t, nil
}

// options has a role be assumed.
func (r Role) options(o *stscreds.AssumeRoleOptions) {
	o.RoleSessionName, o.TransitiveTagKeys = sessionName, r.TransitiveTagKeys
	if r.ExternalID != "" {
		o.ExternalID = &r.ExternalID
	}
	for k, v := range r.Tags {
		o.Tags = append(o.Tags, types.Tag{Key: &k, Value: &v})
	}
}

// sign returns the URL of a signed request for the identity of its signer, bound to the cluster.
func (s source) sign(ctx context.Context, cfg aws.Config) (string, error) {
	signed, err := sts.NewPresignClient(sts.NewFromConfig(cfg)).PresignGetCallerIdentity(ctx,
		&sts.GetCallerIdentityInput{},
		func(o *sts.PresignOptions) {
			o.ClientOptions = append(o.ClientOptions, sts.WithAPIOptions(
				smithyhttp.AddHeaderValue("x-k8s-aws-id", s.cluster), smithyhttp.AddHeaderValue("X-Amz-Expires",
					validSeconds)))
		})
	if err != nil {
		return "", errors.Wrap(err, "cannot sign request")
	}
	return signed.URL, nil
}

// reason returns why there are no credentials. AWS answers with a code that says it best. It is unknown if AWS was not
// asked.
func reason(err error, unknown string) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return "AWS answers " + strconv.Quote(refused.ErrorCode())
	}
	return identity.Unreachable(err, unknown)
}
