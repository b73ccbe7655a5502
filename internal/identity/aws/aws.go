// Package aws mints tokens for EKS from the AWS credentials of the provider.
//
// A token is a signed request for the identity of its signer, which EKS sends on:
// https://github.com/kubernetes-sigs/aws-iam-authenticator. Signing needs no request. The credentials come from the
// default chain of AWS's library, as a rule from a web identity, which is a file and a role that the environment names.
// The chain is asked for each token, as credentials are shorter-lived than connections.
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
	"github.com/aws/aws-sdk-go-v2/service/sts"
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
)

// New returns a Source of tokens for an EKS cluster, which the current context of its kubeconfig names by its name or
// its ARN.
func New(cluster string) (identity.Source, error) {
	if arn.IsARN(cluster) {
		a, err := arn.Parse(cluster)
		name, ok := strings.CutPrefix(a.Resource, "cluster/")
		if err != nil || !ok || name == "" {
			return nil, errors.Errorf("the current context of the kubeconfig names cluster %q, "+
				"which is not the ARN of an EKS cluster", cluster)
		}
		cluster = name
	}
	if cluster == "" {
		return nil, errors.New("AWS web identities need a kubeconfig whose current context names the EKS cluster")
	}
	return source{cluster: cluster}, nil
}

// A source mints tokens by AWS's library.
type source struct{ cluster string }

// Token returns a new token.
func (s source) Token(ctx context.Context) (*oauth2.Token, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRetryMaxAttempts(1))
	if err != nil {
		return nil, errors.New("cannot use AWS configuration of the provider: " +
			"check the variables AWS_* and the AWS files of its pod")
	}
	if cfg.Region == "" {
		return nil, errors.New("cannot use AWS credentials of the provider: AWS_REGION is not set")
	}
	creds, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, errors.New("cannot use AWS credentials of the provider: " + reason(err))
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

// reason returns why there are no credentials. AWS answers with a code that says it best.
func reason(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return "AWS answers " + strconv.Quote(refused.ErrorCode())
	}
	return identity.Unreachable(err, "none are in its environment, and no web identity")
}
