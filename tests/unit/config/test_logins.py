"""Logins that are no password: OIDC, AWS IAM and Kerberos, by one section for both clients."""

from __future__ import annotations

import pickle

from builders.client_options import (
    CANARY,
    KERBEROS,
    LOGIN,
    MSK,
    both,
    option_problem,
    security_problems,
    with_security,
)
from offset_sync.model.msk_login import MskLogin, read_msk_login

BEARER = {**LOGIN, "mechanism": "OAUTHBEARER", "token_endpoint": "https://idp/token", "scope": "kafka"}


def test_the_credentials_of_an_oidc_client_are_given_to_both() -> None:
    spark, admin = both(BEARER)
    oauth = "org.apache.kafka.common.security.oauthbearer"
    login = f'{oauth}.OAuthBearerLoginModule required clientId="u" clientSecret="{CANARY}" scope="kafka";'
    assert spark["sasl.jaas.config"] == login
    assert spark["sasl.login.callback.handler.class"] == f"{oauth}.OAuthBearerLoginCallbackHandler"
    assert spark["sasl.oauthbearer.token.endpoint.url"] == "https://idp/token"
    assert {name.removeprefix("sasl.oauthbearer."): value for name, value in admin.items() if "oauth" in name} == {
        "method": "oidc",
        "client.id": "u",
        "client.secret": CANARY,
        "token.endpoint.url": "https://idp/token",
        "scope": "kafka",
    }
    assert "sasl.password" not in admin


def test_tokens_without_a_scope_are_asked_for_without_one() -> None:
    spark, admin = both({name: value for name, value in BEARER.items() if name != "scope"})
    assert "scope" not in f"{spark['sasl.jaas.config']} {[*admin]}"


def test_a_login_by_aws_iam_is_amazons_module_in_java_and_a_token_elsewhere() -> None:
    spark, admin = both(MSK)
    handler = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    assert spark == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "sasl.client.callback.handler.class": handler,
    }
    assert admin.pop("sasl.oauthbearer.config") == MskLogin("eu-west-1").to_option()
    assert admin == {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    spark, admin = both({**MSK, "profile": 'pro"d'})
    assert spark["sasl.jaas.config"].endswith(r'IAMLoginModule required awsProfileName="pro\"d";')
    assert read_msk_login(admin["sasl.oauthbearer.config"]) == MskLogin("eu-west-1", 'pro"d')
    assert pickle.loads(pickle.dumps(admin)) == admin


def test_a_login_by_aws_iam_in_javas_options_alone_is_refused() -> None:
    line = option_problem(kafka={"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM"})
    assert line.endswith("write mechanism and region into the cluster's section security")


def test_a_keytab_is_given_once_and_both_clients_get_it() -> None:
    spark, admin = both(KERBEROS)
    shared = {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
    module = "com.sun.security.auth.module.Krb5LoginModule required"
    login = f'{module} useKeyTab="true" storeKey="true" keyTab="/sync.keytab" principal="sync@R";'
    assert spark == {**shared, "sasl.jaas.config": login}
    assert admin == {
        **shared,
        "sasl.kerberos.principal": "sync@R",
        "sasl.kerberos.keytab": "/sync.keytab",
        "sasl.kerberos.min.time.before.relogin": "0",  # the library reads the keytab; no kinit is started
        "log_level": "0",
    }
    for made in both({**KERBEROS, "service_name": "broker"}):
        assert made["sasl.kerberos.service.name"] == "broker"


def test_clusters_with_kerberos_have_one_login() -> None:
    (line,) = security_problems(KERBEROS, other={**KERBEROS, "principal": "other@R"})
    assert line.startswith("clusters.dc2.security.principal: differs from that of clusters.dc1, and the Python client")
    (line,) = security_problems(KERBEROS, other={**KERBEROS, "keytab": "/other.keytab"})
    assert line.startswith("clusters.dc2.security.keytab: differs")
    with_security(KERBEROS, other={**KERBEROS, "service_name": "broker"})
    with_security(KERBEROS, other=LOGIN)


def test_without_a_mechanism_kerberos_is_not_chosen_unnoticed() -> None:
    (line,) = security_problems({}, kafka={"security.protocol": "SASL_SSL"})
    assert line.startswith("clusters.dc1.admin: missing sasl.mechanism, and without it clients take Kerberos")
