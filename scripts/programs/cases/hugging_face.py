"""transformers, diffusers, peft, accelerate, sentence-transformers: small random models."""

import tempfile

import torch


def _step(model, **inputs):
    model.train(False)
    out = model(**inputs)
    out.loss.backward()
    norm = sum(p.grad.double().pow(2).sum().item() for p in model.parameters() if p.grad is not None) ** 0.5
    return {"loss": out.loss.item(), "grad_norm": norm}


def _small(**more):
    return {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "vocab_size": 99,
        **more,
    }


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig(**_small()))
    return _step(model, input_ids=torch.randint(99, (2, 7)), labels=torch.tensor([0, 1]))


def gpt2_generate():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64)).eval()
    ids = torch.randint(99, (2, 5))
    made = _step(model, input_ids=ids, labels=ids)
    greedy = model.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0)
    beams = model.generate(ids, max_new_tokens=6, num_beams=3, do_sample=False, pad_token_id=0)
    return {**made, "greedy": greedy.tolist(), "beams": beams.tolist()}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**_small(num_key_value_heads=2)))
    ids = torch.randint(99, (2, 7))
    return {
        **_step(model, input_ids=ids, labels=ids),
        "tokens": model.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0).tolist(),
    }


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(
        T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99, decoder_start_token_id=0)
    )
    return _step(model, input_ids=torch.randint(99, (2, 7)), labels=torch.randint(99, (2, 5)))


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    model = ViTForImageClassification(
        ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            image_size=16,
            patch_size=4,
        )
    )
    return _step(model, pixel_values=torch.rand(2, 3, 16, 16), labels=torch.tensor([0, 1]))


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    model = WhisperForConditionalGeneration(
        WhisperConfig(
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            vocab_size=99,
            max_source_positions=20,
            max_target_positions=16,
            num_mel_bins=8,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
    )
    return _step(model, input_features=torch.rand(2, 8, 40), labels=torch.randint(3, 99, (2, 6)))


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    model = MixtralForCausalLM(
        MixtralConfig(**_small(num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2))
    )
    ids = torch.randint(99, (2, 6))
    return _step(model, input_ids=ids, labels=ids)


def trainer_epoch():
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    model = BertForSequenceClassification(
        BertConfig(**_small(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    )
    data = [{"input_ids": torch.randint(99, (6,)), "labels": torch.tensor(i % 2)} for i in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            per_device_train_batch_size=4,
            num_train_epochs=1,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
            seed=1,
        )
        made = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data).train()
    return {"loss": made.training_loss, "steps": made.global_step}


def diffusers_unet():
    from diffusers import DDPMScheduler, UNet2DModel

    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    scheduler = DDPMScheduler(num_train_timesteps=10)
    x, noise, t = torch.rand(2, 1, 8, 8), torch.randn(2, 1, 8, 8), torch.tensor([3, 7])
    loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(x, noise, t), t).sample, noise)
    loss.backward()
    sample = torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        for step in scheduler.timesteps[:3]:
            sample = scheduler.step(model(sample, step).sample, step, sample).prev_sample
    return {"loss": loss.item(), "sample": sample.flatten()[:4].tolist()}


def peft_lora():
    from peft import LoraConfig, get_peft_model
    from transformers import GPT2Config, GPT2LMHeadModel

    base = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=32))
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM"))
    ids = torch.randint(99, (2, 6))
    made = _step(model, input_ids=ids, labels=ids)
    return {**made, "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad)}


def accelerate_loop():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.rand(8, 4), torch.randint(2, (8,))), batch_size=4
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return {"losses": losses}


def sentence_pooling():
    from sentence_transformers.models import Dense, Normalize, Pooling

    pooling, dense, normal = Pooling(16, pooling_mode="mean"), Dense(16, 8), Normalize()
    features = {
        "token_embeddings": torch.rand(2, 5, 16),
        "attention_mask": torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]),
    }
    made = normal(dense(pooling(features)))["sentence_embedding"]
    return {"embedding": made.flatten()[:8].tolist()}


PROGRAMS = [
    bert,
    gpt2_generate,
    llama,
    t5,
    vit,
    whisper,
    mixtral,
    trainer_epoch,
    diffusers_unet,
    peft_lora,
    accelerate_loop,
    sentence_pooling,
]
